//===- SourceDir.cpp ------------------------------------------------------===//
#include "SourceDir.h"

std::string kbopt::sourcePath(const std::string &path) { return KBOPT_SOURCE_DIR "/" + path; }
