//===- PtxInterpreter.h - PTX executed on the host ---------------*- C++ -*-===//
//
// Owns an interpreter of the few instructions that kb-run's comparison of results
// uses, so that its text is tested without a GPU. Lanes run one after the other and
// meet at shuffles. An instruction that it does not know fails the test.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_TEST_UNIT_CUDARUNTIME_PTXINTERPRETER_H
#define KBOPT_TEST_UNIT_CUDARUNTIME_PTXINTERPRETER_H

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace kbtest {

class PtxKernel {
public:
  /// The entry \p name of \p text; without instructions if there is none.
  PtxKernel(const std::string &text, const std::string &name);
  bool isEmpty() const { return code.empty(); }
  /// Runs all threads; \p parameters by name, doubles by their bits. Empty, or what went wrong.
  std::string run(unsigned blocks, unsigned threads,
                  const std::map<std::string, uint64_t> &parameters) const;

private:
  struct Instruction {
    std::string guard; ///< "%p1", or empty
    bool isNegated = false;
    std::string op;
    std::vector<std::string> operands;
  };
  struct Lane {
    std::map<std::string, uint64_t> registers;
    size_t at = 0;
    bool isDone = false;
  };
  /// False with \p error; stops in front of shuffles and at the end.
  bool runToShuffle(Lane &lane, std::string &error) const;
  bool perform(const Instruction &instruction, Lane &lane, std::string &error) const;

  std::vector<Instruction> code;
  std::map<std::string, size_t> labels;
};

} // namespace kbtest

#endif // KBOPT_TEST_UNIT_CUDARUNTIME_PTXINTERPRETER_H
