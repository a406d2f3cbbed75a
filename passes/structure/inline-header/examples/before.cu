// scale.h defines the kernel 'scale' and the function 'runScale', which launches it.
#include "scale.h"

void twice(float *out, const float *in, int n) { runScale(out, in, 2.0f, n); }
