//===- AssistedStep.cpp - Applying a reply ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from a step with `reply=` to edits. The reply was written by a
// model, its file may come from anywhere: nothing of it is trusted. No model is
// asked here, and the same text and reply give the same bytes.
//
//===----------------------------------------------------------------------===//

#include "SessionState.h"
#include "kb-opt/Assisted/ReplyStore.h"
#include "kb-opt/Assisted/ReplyTemplate.h"
#include "kb-opt/Rewrite/Assisted/EditRules.h"
#include "kb-opt/Rewrite/Assisted/Grounding.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"

using namespace kbopt;
using llvm::StringRef;

namespace {

/// The reply of \p step, which is for \p info and for the step's kernel.
llvm::Expected<AssistedReply> replyOf(const Step &step, const PassInfo &info,
                                      const std::string &folder) {
  llvm::Expected<AssistedReply> reply = ReplyStore(folder, realFileSystem()).get(step.reply);
  if (!reply)
    return reply.takeError();
  if (reply->pass != info.name)
    return llvm::make_error<UsageError>("the reply " + step.reply + " is for pass '" + reply->pass +
                                            "', not for '" + info.name.str() + "'",
                                        "write " + reply->pass + "{reply=" + step.reply + "}");
  if (!step.kernel.empty() && !isNamed(reply->kernel, step.kernel))
    return llvm::make_error<UsageError>("the reply " + step.reply + " is for kernel '" +
                                            reply->kernel + "', not for '" + step.kernel + "'",
                                        "leave kernel= out, or name that one");
  return reply;
}

/// The refusal that a compiler's complaint stands for; any other error stays one.
llvm::Error intoRefusal(llvm::Error error, std::optional<Refusal> &refusal) {
  return llvm::handleErrors(std::move(error),
                            [&](std::unique_ptr<KbError> complaint) -> llvm::Error {
                              if (complaint->status != ExitStatus::Diagnostics)
                                return llvm::Error(std::move(complaint));
                              refusal = Refusal{EditRule::Parse, complaint->message, ""};
                              return llvm::Error::success();
                            });
}

/// The edits of \p reply where its anchors are now, in the order of the text, or why there
/// are none.
std::string placeEdits(const ParsedProgram &program, const AssistedReply &reply,
                       const TemplateValues &values, std::vector<PlacedEdit> &placed,
                       Edits &edits) {
  for (const SavedAnchor &saved : reply.anchors)
    for (const ReplyEdit &edit : reply.edits) {
      if (edit.anchor != saved.id)
        continue;
      AnchorOrReason anchor = locate(program, reply.kernel, saved);
      if (!anchor)
        return anchor.reason().str();
      placed.push_back(place(edit.anchor, *anchor, instantiate(edit.text, values), program.text(),
                             program.language()));
    }
  llvm::sort(placed, [](const PlacedEdit &a, const PlacedEdit &b) {
    return std::tuple(a.anchor.begin, a.anchor.end, a.id != "includes", StringRef(a.id)) <
           std::tuple(b.anchor.begin, b.anchor.end, b.id != "includes", StringRef(b.id));
  });
  for (const PlacedEdit &edit : placed)
    if (llvm::Error error = edits.replaceAll(edit.anchor, edit.inserted)) {
      llvm::consumeError(std::move(error));
      return "the program has changed: two anchors of the reply for kernel '" + reply.kernel +
             "' are in one place";
    }
  return "";
}

} // namespace

std::optional<std::string> RewriteSession::State::suppressedKernel(const PassInfo &info,
                                                                   StringRef name) const {
  for (const KernelFact &kernel : findKernels(*parsed)) {
    unsigned line = lineColumn(*parsed, kernel.function->getLocation()).line;
    if (kernel.name == name && line && parsed->suppressions().covers(line, info.name))
      return suppressionText(line);
  }
  return std::nullopt;
}

llvm::Expected<StepResult> RewriteSession::State::rewriteFromReply(const Step &step,
                                                                   const PassInfo &info,
                                                                   std::string &edited) {
  if (!info.assisted)
    return llvm::make_error<UsageError>("pass '" + info.name.str() + "' has no assisted form",
                                        "a reply is for passes that have one");
  llvm::Expected<AssistedReply> reply = replyOf(step, info, options.replies);
  if (!reply)
    return reply.takeError();
  StepResult result;
  result.promise = reply->promise;
  result.assumes = reply->assumes;
  Remark remark;
  remark.pass = info.name.str();
  remark.kernel = reply->kernel;
  remark.file = command.shownFile;
  remark.options = {{"reply", step.reply}};
  auto miss = [&](const std::string &why) {
    remark.kind = RemarkKind::Missed;
    remark.message = why;
    result.remarks.push_back(remark);
    return std::move(result);
  };
  auto refuse = [&](Refusal refusal) {
    result.refusal = refusal;
    return miss(refusal.text());
  };

  if (std::string refusal = info.refusalFor(command.arch); !refusal.empty())
    return miss(refusal);
  // A file from elsewhere may hold what was never accepted.
  if (std::optional<Refusal> refusal = checkReply(*reply, info))
    return refuse(*refusal);
  llvm::Expected<TemplateValues> values = templateValues(*reply, step.parameters);
  if (!values)
    return values.takeError();
  for (const auto &[name, value] : *values)
    remark.options.emplace_back(name, value);

  if (std::optional<std::string> reason = suppressedKernel(info, reply->kernel))
    return miss(*reason);
  std::vector<PlacedEdit> placed;
  Edits edits;
  std::string stale = placeEdits(*parsed, *reply, *values, placed, edits);
  if (!stale.empty())
    return miss(stale);
  remark.line = placed.front().anchor.line;
  remark.column = placed.front().anchor.column;
  if (std::optional<std::string> reason = suppressedEdit(info, edits))
    return miss(*reason);
  llvm::ArrayRef<StringRef> allow = info.assisted->allow;
  if (std::optional<Refusal> refusal =
          checkTexts(placed, allow, parsed->text(), parsed->language()))
    return refuse(*refusal);

  // A child process compiles it first: within limits, and where the driver says so in a
  // sandbox. Only what compiles there is parsed in this process.
  llvm::Expected<std::string> text =
      applyEdits(parsed->text(), edits, {FormatChoice::FileStyle, command.file});
  if (!text)
    return text.takeError();
  std::optional<Refusal> complaint;
  llvm::Expected<std::string> bitcode = bitcodeOf(*text);
  if (!bitcode) {
    if (llvm::Error error = intoRefusal(bitcode.takeError(), complaint))
      return std::move(error);
    return refuse(*complaint);
  }
  // The rules compare places, which formatting moves.
  llvm::Expected<std::string> plain = applyEdits(parsed->text(), edits, {FormatChoice::None, ""});
  if (!plain)
    return plain.takeError();
  auto after = options.parser->parse(command, *plain);
  if (!after) {
    if (llvm::Error error = intoRefusal(after.takeError(), complaint))
      return std::move(error);
    return refuse(*complaint);
  }
  if (std::optional<Refusal> refusal = checkProgram(*parsed, **after, placed, allow))
    return refuse(*refusal);

  remark.kind = RemarkKind::Passed;
  remark.message = instantiate(reply->summary, *values);
  bool runs = options.bisectLimit < 0 || rewrites < options.bisectLimit;
  ++rewrites;
  if (options.onBisect)
    options.onBisect(rewrites, remark, runs);
  if (!runs)
    return miss("not done: -opt-bisect-limit is reached");
  compiled = {*text, std::move(*bitcode)};
  edited = std::move(*text);
  result.rewritten = 1;
  result.remarks.push_back(std::move(remark));
  result.edits = std::move(edits);
  return result;
}
