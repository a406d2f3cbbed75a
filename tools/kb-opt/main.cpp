//===- main.cpp - kb-opt --------------------------------------------------===//
#include "kb-opt/Driver/Driver.h"

int main(int argc, char **argv) { return kbopt::runKbOpt(argc, argv); }
