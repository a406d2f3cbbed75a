//===- Step.cpp - Textual pipelines ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns parsing with MLIR's parser, and saying what is wrong in the user's
// words. MLIR's own messages know neither suggestions nor our options' ranges.
//
//===----------------------------------------------------------------------===//

#include "PassAdapter.h"
#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Assisted/ReplyTemplate.h"
#include "kb-opt/Rewrite/RewritePass.h"
#include "kb-opt/Support/Error.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"
#include <mutex>

using namespace kbopt;
using llvm::StringRef;

namespace {

/// One element of the text: where its name and its options stand.
struct Element {
  size_t nameAt = 0;
  StringRef name;
  size_t optionsAt = 0;
  StringRef options; ///< between the braces
};

/// `message`, the pipeline, and a caret under byte \p at.
llvm::Error caretError(StringRef text, size_t at, const llvm::Twine &message, StringRef note) {
  std::string shown;
  llvm::raw_string_ostream os(shown);
  os << message << "\n  " << text << '\n';
  os.indent(2 + at) << '^';
  return llvm::make_error<UsageError>(std::move(shown), note.str());
}

/// Splits \p text at the commas that stand outside braces and quotes.
llvm::Expected<std::vector<Element>> split(StringRef text) {
  std::vector<Element> elements;
  size_t at = 0;
  auto skipSpace = [&] {
    while (at < text.size() && llvm::isSpace(text[at]))
      ++at;
  };
  while (true) {
    skipSpace();
    Element element;
    element.nameAt = at;
    while (at < text.size() && !llvm::isSpace(text[at]) && !StringRef(",{}()").contains(text[at]))
      ++at;
    element.name = text.slice(element.nameAt, at);
    if (element.name.empty())
      return caretError(text, at, "a pass name is missing in the pipeline",
                        "kb-opt --list-passes shows the passes");
    skipSpace();
    if (at < text.size() && text[at] == '{') {
      element.optionsAt = ++at;
      unsigned depth = 1;
      char quote = 0;
      for (; at < text.size() && depth; ++at) {
        char c = text[at];
        if (quote)
          quote = c == quote ? 0 : quote;
        else if (c == '\'' || c == '"')
          quote = c;
        else
          depth += (c == '{') - (c == '}');
      }
      if (depth)
        return caretError(text, element.optionsAt - 1, "this brace is never closed",
                          "options are written as " + element.name.str() + "{option=value}");
      element.options = text.slice(element.optionsAt, at - 1);
      skipSpace();
    }
    elements.push_back(element);
    if (at == text.size())
      return elements;
    if (text[at] != ',')
      return caretError(text, at, "a comma is expected between passes",
                        "as in a,b{option=value},c");
    ++at;
  }
}

/// The options of \p info that go with a reply or without one.
llvm::SmallVector<StringRef> knownOptions(const PassInfo &info, bool hasReply) {
  llvm::SmallVector<StringRef> known{"kernel"};
  if (hasReply)
    return known;
  known.push_back("site");
  for (const OptionInfo &option : info.options)
    known.push_back(option.name);
  if (info.assisted)
    known.push_back("reply");
  return known;
}

/// Whether \p name may stand beside the others; the value is checked later.
llvm::Error checkName(StringRef text, StringRef name, const PassInfo &info, bool hasReply) {
  size_t at = name.data() - text.data();
  llvm::SmallVector<StringRef> known = knownOptions(info, hasReply);
  if (llvm::is_contained(known, name) || (hasReply && (name == "reply" || isParameterName(name))))
    return llvm::Error::success();
  if (hasReply && (name == "site" || info.option(name)))
    return caretError(text, at, "option '" + name + "' does not go with a reply",
                      "a reply has its own places; its parameters are written in upper case");
  if (name == "reply")
    return caretError(text, at,
                      "pass '" + info.name + "' has no assisted form, which a reply is for",
                      "kb-opt --list-passes shows the passes");
  if (isParameterName(name) && info.assisted)
    return caretError(text, at, "'" + name + "' is a parameter of a reply, and no reply is named",
                      "name it: " + info.name.str() + "{reply=… " + name.str() + "=…}");
  std::optional<std::string> near = nearestName(name, known);
  return caretError(text, at, "pass '" + info.name + "' has no option '" + name + "'",
                    near ? "did you mean '" + *near + "'?"
                         : "its options are " + llvm::join(known, ", "));
}

llvm::Error checkValue(StringRef text, const WrittenOption &written, const PassInfo &info) {
  StringRef value = written.value, bare = value.trim("'\"");
  auto wrong = [&](const llvm::Twine &message, StringRef note) {
    return caretError(text, value.data() - text.data(), message, note);
  };
  unsigned site = 0;
  if (written.name == "site" && (value.getAsInteger(10, site) || site == 0))
    return wrong("'" + value + "' is no number of a site", "sites count from 1");
  if (written.name == "reply" && !isReplyName(bare))
    return wrong("'" + value + "' is no name of a reply",
                 "a reply is named by 32 hexadecimal digits");
  if (isParameterName(written.name) && !isParameterValue(bare))
    return wrong("'" + value + "' is no value of a parameter",
                 "values are integers or identifiers");
  const OptionInfo *option = info.option(written.name);
  if (!option)
    return llvm::Error::success();
  PassOptions checked(info);
  if (llvm::Error error = checked.set(option->name, bare)) {
    std::string message, note;
    llvm::handleAllErrors(std::move(error), [&](const KbError &e) {
      message = e.message;
      note = e.note;
    });
    return wrong(message, note);
  }
  return llvm::Error::success();
}

llvm::Error checkOptions(StringRef text, const Element &element, const PassInfo &info) {
  std::vector<WrittenOption> options = writtenOptions(element.options);
  bool hasReply =
      info.assisted && llvm::any_of(options, [](const auto &each) { return each.name == "reply"; });
  for (const WrittenOption &option : options) {
    if (llvm::Error error = checkName(text, option.name, info, hasReply))
      return error;
    if (option.value.empty())
      return caretError(text, option.name.data() - text.data(),
                        "option '" + option.name + "' is given no value",
                        "write " + option.name.str() + "=value");
    if (llvm::Error error = checkValue(text, option, info))
      return error;
  }
  return llvm::Error::success();
}

void registerWithMlir(const PassRegistry &registry) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  for (const PassInfo *info : registry.infos()) {
    mlir::registerPass([info] { return std::make_unique<PassAdapter>(*info, info->name); });
    for (StringRef alias : info->aliases)
      mlir::registerPass([info, alias] { return std::make_unique<PassAdapter>(*info, alias); });
  }
}

} // namespace

std::vector<WrittenOption> kbopt::writtenOptions(StringRef text) {
  std::vector<WrittenOption> options;
  for (StringRef rest = text.ltrim(); !rest.empty(); rest = rest.ltrim()) {
    size_t end = rest.find_first_of("= \t\n");
    WrittenOption option{rest.take_front(end), "", rest.take_front(end)};
    if (end != StringRef::npos && rest[end] == '=') {
      StringRef value = rest.drop_front(end + 1);
      size_t length = value.find_first_of(" \t\n");
      if (!value.empty() && StringRef("'\"{").contains(value[0])) {
        size_t closed = value.find(value[0] == '{' ? '}' : value[0], 1);
        length = closed == StringRef::npos ? value.size() : closed + 1;
      }
      option.value = value.take_front(length);
      option.whole = rest.take_front(end + 1 + option.value.size());
    }
    rest = rest.drop_front(option.whole.size());
    options.push_back(option);
  }
  return options;
}

llvm::Error kbopt::parseInto(mlir::OpPassManager &manager, StringRef text,
                             const PassRegistry &registry) {
  if (text.trim().empty())
    return llvm::make_error<UsageError>("the pipeline is empty",
                                        "name at least one pass, as in -passes=unroll-loop; "
                                        "kb-opt --list-passes shows them");
  // The full form that MLIR prints is accepted too.
  StringRef inner = text.trim();
  if (inner.consume_front("kb.program(") && inner.consume_back(")"))
    text = inner;
  llvm::Expected<std::vector<Element>> elements = split(text);
  if (!elements)
    return elements.takeError();
  for (const Element &element : *elements) {
    const PassRegistration *pass = registry.lookup(element.name);
    if (!pass) {
      std::optional<std::string> near = registry.nearest(element.name);
      return caretError(text, element.nameAt, "there is no pass '" + element.name + "'",
                        near ? "did you mean '" + *near + "'?"
                             : "kb-opt --list-passes shows the passes");
    }
    if (llvm::Error error = checkOptions(text, element, *pass->info))
      return error;
  }
  registerWithMlir(registry);
  std::string messages;
  llvm::raw_string_ostream stream(messages);
  if (mlir::failed(mlir::parsePassPipeline(text, manager, stream)))
    return llvm::make_error<UsageError>("the pipeline '" + text.str() +
                                            "' does not parse: " + StringRef(messages).trim().str(),
                                        "docs/Pipeline.md describes the syntax");
  return llvm::Error::success();
}

llvm::Expected<std::vector<Step>> kbopt::parsePipeline(StringRef text,
                                                       const PassRegistry &registry) {
  mlir::OpPassManager manager(kb::ProgramOp::getOperationName());
  if (llvm::Error error = parseInto(manager, text, registry))
    return std::move(error);
  std::vector<Step> steps;
  for (PassAdapter *adapter : adaptersOf(manager)) {
    llvm::Expected<Step> step = adapter->step();
    if (!step)
      return step.takeError();
    steps.push_back(std::move(*step));
  }
  return steps;
}
