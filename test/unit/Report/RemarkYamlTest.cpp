//===- RemarkYamlTest.cpp - Remarks in files and on terminals ---------------===//

#include "kb-opt/Report/RemarkYaml.h"
#include "llvm/Remarks/Remark.h"
#include "llvm/Remarks/RemarkParser.h"
#include "gtest/gtest.h"

using namespace kbopt;

namespace {

Remark example() {
  Remark remark;
  remark.kind = RemarkKind::Missed;
  remark.pass = "unroll-loop";
  remark.kernel = "gemm";
  remark.site = 2;
  remark.file = "gemm.cu";
  remark.line = 12;
  remark.column = 3;
  remark.message = "the loop contains 'another' loop: k";
  remark.options = {{"factor", "4"}};
  return remark;
}

std::string yaml(llvm::ArrayRef<Remark> remarks) {
  std::string text;
  llvm::raw_string_ostream os(text);
  writeRemarksYaml(os, remarks);
  return text;
}

TEST(RemarkYaml, IsWhatLlvmReads) {
  Remark passed = example();
  passed.kind = RemarkKind::Passed;
  std::string text = yaml({example(), passed});
  auto parser = llvm::remarks::createRemarkParser(llvm::remarks::Format::YAML, text);
  ASSERT_TRUE(bool(parser)) << llvm::toString(parser.takeError());
  auto first = (*parser)->next();
  ASSERT_TRUE(bool(first)) << llvm::toString(first.takeError());
  EXPECT_EQ((*first)->RemarkType, llvm::remarks::Type::Missed);
  EXPECT_EQ((*first)->PassName, "unroll-loop");
  EXPECT_EQ((*first)->FunctionName, "gemm");
  ASSERT_TRUE((*first)->Loc.has_value());
  EXPECT_EQ((*first)->Loc->SourceLine, 12u);
  // LLVM's parser leaves YAML's doubled quotes as they are.
  EXPECT_EQ((*first)->Args[0].Val.str(), "the loop contains ''another'' loop: k");
  EXPECT_EQ((*first)->Args[1].Key, "Site");
  EXPECT_EQ((*first)->Args[2].Key, "factor");
  auto second = (*parser)->next();
  ASSERT_TRUE(bool(second)) << llvm::toString(second.takeError());
  EXPECT_EQ((*second)->RemarkType, llvm::remarks::Type::Passed);
  EXPECT_TRUE((*parser)->next().errorIsA<llvm::remarks::EndOfFileError>());
}

TEST(RemarkYaml, NoRemarksIsAnEmptyFile) { EXPECT_EQ(yaml({}), ""); }

TEST(RemarkYaml, OneLineForATerminal) {
  EXPECT_EQ(formatRemark(example()), "gemm.cu:12:3: remark: does not apply: the loop contains "
                                     "'another' loop: k [unroll-loop, site 2]");
  Remark plain = example();
  plain.kind = RemarkKind::Passed;
  plain.line = 0;
  plain.site = 0;
  plain.message = "unrolled by 4";
  EXPECT_EQ(formatRemark(plain), "remark: unrolled by 4 [unroll-loop]");
}

} // namespace
