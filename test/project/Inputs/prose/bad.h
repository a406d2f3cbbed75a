//===- bad.h - A source with every fault that the check knows ---*- C++ -*-===//
//
// Errors are left to whoever asks.
//
//===----------------------------------------------------------------------===//
const char *who = "nobody answers"; // the name of a variable is none
