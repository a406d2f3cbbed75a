//===- Nests.h - Nests written by hand --------------------------*- C++ -*-===//
//
// Owns parsing of a kb.program and the look-up of its nest for the tests of sketches.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_SCHEDULE_NESTS_H
#define KBOPT_TEST_SCHEDULE_NESTS_H

#include "kb-opt/Schedule/Sketch.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

namespace kbopt {

struct Nests : testing::Test {
  Nests() { context.loadDialect<kb::KbDialect>(); }

  /// The first nest of \p program, with \p schedule.
  kb::NestOp parse(llvm::StringRef program, const Schedule &schedule = {}) {
    module = mlir::parseSourceString<mlir::ModuleOp>(program, &context);
    kb::NestOp found;
    if (module)
      module->walk([&](kb::NestOp nest) { found = found ? found : nest; });
    EXPECT_TRUE(found) << "the program does not parse";
    if (found && !schedule.all().empty())
      found.setScheduleAttr(schedule.attribute(&context));
    return found;
  }

  /// A kernel `k` with \p params (a list of attributes) and its nest.
  static std::string program(llvm::StringRef params, llvm::StringRef nest) {
    return ("kb.program \"a.cu\" { kb.kernel @k \"k\" params [" + params + "] symbols [] {}\n" +
            nest + "\n}")
        .str();
  }

  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  ChipInfo chip = llvm::cantFail(loadChip("h200"));
};

} // namespace kbopt

#endif // KBOPT_TEST_SCHEDULE_NESTS_H
