//===- SourceDir.h - Where the project's sources lie ------------*- C++ -*-===//
//
// Owns the one path of this machine that unit tests are compiled with. It is compiled by itself, so
// that the tests' other objects are the same in every clone.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_SOURCEDIR_H
#define KBOPT_TEST_UNIT_SOURCEDIR_H

#include <string>

namespace kbopt {

/// \p path of the project's tree, such as "docs/Security.md", as an absolute path.
std::string sourcePath(const std::string &path);

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_SOURCEDIR_H
