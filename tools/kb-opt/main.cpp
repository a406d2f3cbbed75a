//===- main.cpp - kb-opt --------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Driver/Driver.h"

int main(int argc, char **argv) { return kbopt::runKbOpt(argc, argv); }
