//===- LinkedMain.cpp -----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Source/LinkedMain.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/Path.h"

using namespace kbopt;
using namespace llvm::object;

/// Whether \p object defines `main`; what cannot be read defines nothing.
static bool definesMain(const ObjectFile &object) {
  for (const SymbolRef &symbol : object.symbols()) {
    llvm::Expected<llvm::StringRef> name = symbol.getName();
    llvm::Expected<uint32_t> flags = symbol.getFlags();
    const bool isMain = name && flags && *name == "main" && !(*flags & SymbolRef::SF_Undefined);
    if (!name)
      llvm::consumeError(name.takeError());
    if (!flags)
      llvm::consumeError(flags.takeError());
    if (isMain)
      return true;
  }
  return false;
}

static bool definesMain(const Archive &archive) {
  llvm::Error error = llvm::Error::success();
  bool found = false;
  for (const Archive::Child &child : archive.children(error)) {
    llvm::Expected<std::unique_ptr<Binary>> binary = child.getAsBinary();
    if (!binary)
      llvm::consumeError(binary.takeError());
    else if (const auto *object = llvm::dyn_cast<ObjectFile>(binary->get()))
      found |= definesMain(*object);
  }
  llvm::consumeError(std::move(error));
  return found;
}

bool kbopt::linksMain(const CompileCommand &command) {
  for (llvm::StringRef flag : command.linkFlags) {
    if (flag.starts_with("-") || !(flag.ends_with(".o") || flag.ends_with(".a")))
      continue;
    llvm::SmallString<128> file(flag);
    llvm::sys::path::make_absolute(command.directory, file);
    llvm::Expected<OwningBinary<Binary>> binary = createBinary(file);
    if (!binary) {
      llvm::consumeError(binary.takeError());
      continue;
    }
    const auto *object = llvm::dyn_cast<ObjectFile>(binary->getBinary());
    const auto *archive = llvm::dyn_cast<Archive>(binary->getBinary());
    if ((object && definesMain(*object)) || (archive && definesMain(*archive)))
      return true;
  }
  return false;
}
