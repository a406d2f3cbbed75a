//===- ReplyReader.cpp - Replies from JSON ----------------------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns reading what models answer and what reply files hold. The input is
// untrusted: every member is checked, and unknown ones are faults.
//
//===----------------------------------------------------------------------===//

#include "kb-opt/Assisted/AssistedReply.h"
#include "kb-opt/Assisted/PromptBuilder.h"
#include "kb-opt/Support/Error.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace kbopt;
using llvm::StringRef;
namespace json = llvm::json;

namespace {

/// Reads the members of one object; the first fault stays.
class Members {
public:
  Members(const json::Value &value, std::string path, std::string &fault)
      : object(value.getAsObject()), path(std::move(path)), fault(fault) {
    if (!object)
      fail("", "is not an object");
  }

  /// A member that may be missing; null then.
  const json::Value *find(StringRef name) {
    known.push_back(name);
    return object ? object->get(name) : nullptr;
  }
  const json::Value *require(StringRef name) {
    const json::Value *value = find(name);
    if (!value)
      fail(name, "is missing");
    return value;
  }
  void text(StringRef name, std::string &into) {
    if (const json::Value *value = require(name))
      textFrom(*value, name, into);
  }
  void optionalText(StringRef name, std::string &into) {
    if (const json::Value *value = find(name))
      textFrom(*value, name, into);
  }
  void number(StringRef name, unsigned &into, bool required) {
    const json::Value *value = required ? require(name) : find(name);
    if (!value)
      return;
    std::optional<int64_t> number = value->getAsInteger();
    if (!number || *number < 0 || *number > INT32_MAX)
      fail(name, "is no count");
    else
      into = static_cast<unsigned>(*number);
  }
  /// Calls \p each with the elements of a list and their paths.
  void list(StringRef name, bool required,
            llvm::function_ref<void(const json::Value &, std::string)> each) {
    const json::Value *value = required ? require(name) : find(name);
    if (!value)
      return;
    const json::Array *array = value->getAsArray();
    if (!array)
      return fail(name, "is not a list");
    for (size_t i = 0; i < array->size(); ++i)
      each((*array)[i], full(name) + "[" + std::to_string(i) + "]");
  }
  void texts(StringRef name, bool required, std::vector<std::string> &into) {
    list(name, required, [&](const json::Value &value, std::string place) {
      if (auto string = value.getAsString())
        into.push_back(string->str());
      else if (auto number = value.getAsInteger())
        into.push_back(std::to_string(*number)); // [16, 32] says the same as ["16", "32"]
      else
        setFault("'" + place + "' is no string");
    });
  }
  /// Nothing but what was asked for may be there.
  void finish() {
    if (!object)
      return;
    for (const auto &[name, value] : *object)
      if (!llvm::is_contained(known, StringRef(name)))
        fail(name, "is unknown");
  }
  void fail(StringRef name, StringRef what) { setFault(at(name) + " " + what.str()); }

private:
  void textFrom(const json::Value &value, StringRef name, std::string &into) {
    if (auto string = value.getAsString())
      into = string->str();
    else if (auto number = value.getAsInteger())
      into = std::to_string(*number);
    else
      fail(name, "is no string");
  }
  std::string at(StringRef name) const {
    if (name.empty())
      return path.empty() ? "the reply" : "'" + path + "'";
    return "'" + full(name) + "'";
  }
  std::string full(StringRef name) const { return (path.empty() ? "" : path + ".") + name.str(); }
  void setFault(const std::string &what) {
    if (fault.empty())
      fault = what;
  }

  const json::Object *object;
  std::string path;
  std::string &fault;
  std::vector<StringRef> known;
};

} // namespace

static llvm::Error malformed(const std::string &fault) {
  return llvm::make_error<UsageError>("the reply is malformed: " + fault,
                                      "ask again; the schema of the reply is in the request",
                                      ExitStatus::Diagnostics);
}

/// One line without control characters: it goes into remarks and reports.
static std::string oneLine(StringRef text, size_t limit) {
  std::string line;
  for (char c : text.trim())
    line += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? ' ' : c;
  if (line.size() > limit) {
    line.resize(limit);
    while (!line.empty() && !json::isUTF8(line))
      line.pop_back();
    line += "…";
  }
  return line;
}

static std::optional<Promise> promiseFrom(StringRef name) {
  for (Promise promise : {Promise::Bitwise, Promise::Reassociates, Promise::LowerPrecision})
    if (promiseName(promise) == name)
      return promise;
  return std::nullopt;
}

static std::optional<std::vector<Assumption>> assumptionsFrom(llvm::ArrayRef<std::string> names) {
  std::vector<Assumption> result;
  for (const std::string &name : names) {
    if (name == assumptionName(Assumption::Aligned))
      result.push_back(Assumption::Aligned);
    else if (name == assumptionName(Assumption::NoAlias))
      result.push_back(Assumption::NoAlias);
    else
      return std::nullopt;
  }
  return result;
}

/// Edits and parameters are the same in answers and in files.
static void readEdits(Members &members, std::string &fault, bool required,
                      std::vector<ReplyEdit> &into) {
  members.list("edits", required, [&](const json::Value &value, std::string path) {
    Members edit(value, path, fault);
    edit.text("anchor", into.emplace_back().anchor);
    edit.text("text", into.back().text);
    edit.finish();
  });
}

static void readParameters(Members &members, std::string &fault,
                           std::vector<TemplateParameter> &into) {
  members.list("parameters", false, [&](const json::Value &value, std::string path) {
    Members parameter(value, path, fault);
    parameter.text("name", into.emplace_back().name);
    parameter.texts("values", true, into.back().values);
    parameter.text("default", into.back().defaultValue);
    parameter.finish();
  });
}

/// The members of a change; \p required: those that stand for it have to be there.
static CoderReply readChange(Members &members, std::string &fault, bool required) {
  CoderReply reply;
  std::string promise;
  std::vector<std::string> assumes;
  members.optionalText("pass", reply.pass);
  if (required)
    members.text("summary", reply.summary);
  else
    members.optionalText("summary", reply.summary);
  members.optionalText("cannot", reply.cannot);
  members.optionalText("dispute", reply.dispute);
  readEdits(members, fault, required, reply.edits);
  readParameters(members, fault, reply.parameters);
  members.optionalText("promise", promise);
  bool hasAssumes = members.find("assumes");
  members.texts("assumes", false, assumes);
  reply.summary = oneLine(reply.summary, ReplyLimits::summaryBytes);
  reply.cannot = oneLine(reply.cannot, ReplyLimits::summaryBytes);
  reply.dispute = oneLine(reply.dispute, ReplyLimits::summaryBytes);
  if (!promise.empty() && !(reply.promise = promiseFrom(promise)))
    members.fail("promise", "is none of bitwise, reassociates, lower-precision");
  if (hasAssumes && !(reply.assumes = assumptionsFrom(assumes)))
    members.fail("assumes", "may hold aligned and noalias");
  return reply;
}

llvm::Expected<CoderReply> kbopt::readCoderReply(const json::Value &answer) {
  std::string fault;
  Members members(answer, "", fault);
  CoderReply reply = readChange(members, fault, /*required=*/true);
  members.finish();
  const bool isRefusal = !reply.cannot.empty() || !reply.dispute.empty();
  if (fault.empty() && !reply.cannot.empty() && !reply.edits.empty())
    members.fail("cannot", "stands beside edits");
  if (fault.empty() && !reply.dispute.empty() && (!reply.edits.empty() || !reply.cannot.empty()))
    members.fail("dispute", "stands beside edits or 'cannot'");
  if (fault.empty() && !isRefusal && reply.summary.empty())
    members.fail("summary", "is empty");
  if (!fault.empty())
    return malformed(fault);
  return reply;
}

llvm::Expected<ComposeReply> kbopt::readComposeReply(const json::Value &answer) {
  ComposeReply reply;
  std::string fault;
  Members members(answer, "", fault);
  members.optionalText("schedule", reply.schedule);
  members.texts("unfit", false, reply.unfit);
  reply.code = readChange(members, fault, /*required=*/false);
  std::vector<std::string> removed;
  members.texts("delete", false, removed);
  members.finish();
  for (const std::string &anchor : removed) {
    if (slotKind(anchor) != SlotKind::Unused)
      members.fail("delete", "names '" + anchor + "', which is no anchor of something unused");
    reply.code.edits.push_back({anchor, ""});
  }
  const int answers =
      !reply.schedule.empty() + !reply.code.edits.empty() + !reply.code.cannot.empty();
  if (fault.empty() && answers != 1)
    members.fail("", answers ? "has more than one of 'schedule', 'edits' and 'cannot'"
                             : "has none of 'schedule', 'edits' and 'cannot'");
  if (fault.empty() && !reply.code.edits.empty() && reply.code.summary.empty())
    members.fail("summary", "is empty");
  if (fault.empty() && llvm::is_contained(reply.unfit, reply.code.pass) &&
      reply.code.cannot.empty())
    members.fail("pass", "is among 'unfit' as well");
  if (!fault.empty())
    return malformed(fault);
  return reply;
}

llvm::Expected<AssistedReply> kbopt::parseReply(StringRef bytes) {
  auto value = json::parse(bytes);
  if (!value)
    return malformed(llvm::toString(value.takeError()));
  AssistedReply reply;
  std::string fault, promise;
  std::vector<std::string> assumes;
  unsigned version = 0;
  Members members(*value, "", fault);
  members.number("version", version, true);
  if (fault.empty() && version != 1)
    members.fail("version", "is not 1: it was written by a newer kb-opt");
  members.text("pass", reply.pass);
  members.text("kernel", reply.kernel);
  members.text("summary", reply.summary);
  reply.summary = oneLine(reply.summary, ReplyLimits::summaryBytes);
  members.text("promise", promise);
  members.texts("assumes", true, assumes);
  members.list("anchors", true, [&](const json::Value &each, std::string path) {
    SavedAnchor &anchor = reply.anchors.emplace_back();
    Members saved(each, path, fault);
    saved.text("id", anchor.id);
    saved.text("usr", anchor.usr);
    saved.text("nodeKind", anchor.nodeKind);
    saved.number("begin", anchor.begin, true);
    saved.number("end", anchor.end, true);
    saved.text("digest", anchor.digest);
    saved.optionalText("numberless", anchor.numberless);
    saved.finish();
    if (!slotKind(anchor.id) || anchor.end < anchor.begin)
      saved.fail("", "is no anchor");
  });
  readEdits(members, fault, /*required=*/true, reply.edits);
  readParameters(members, fault, reply.parameters);
  members.finish();
  auto readPromise = promiseFrom(promise);
  auto readAssumes = assumptionsFrom(assumes);
  if (!readPromise)
    members.fail("promise", "is none of bitwise, reassociates, lower-precision");
  if (!readAssumes)
    members.fail("assumes", "may hold aligned and noalias");
  if (!fault.empty())
    return malformed(fault);
  reply.promise = *readPromise;
  reply.assumes = std::move(*readAssumes);
  return reply;
}

llvm::Expected<PlannerReply> kbopt::readPlannerReply(const json::Value &answer) {
  PlannerReply reply;
  std::string fault;
  Members members(answer, "", fault);
  members.text("pass", reply.pass);
  members.text("kernel", reply.kernel);
  members.text("why", reply.why);
  members.text("instruction", reply.instruction);
  members.optionalText("schedule", reply.schedule);
  members.texts("unfit", false, reply.unfit);
  members.list("places", false, [&](const json::Value &value, std::string path) {
    PlannedPlace &place = reply.places.emplace_back();
    Members each(value, path, fault);
    each.number("site", place.site, false);
    each.number("first", place.first, false);
    each.number("last", place.last, false);
    each.text("instruction", place.instruction);
    each.finish();
    if (place.first && !place.last)
      place.last = place.first;
    if ((place.site == 0) == (place.first == 0) || place.last < place.first)
      each.fail("", "needs either 'site' or 'first' and 'last'");
  });
  members.finish();
  if (!fault.empty())
    return malformed(fault);
  return reply;
}

llvm::Expected<VerifierReply> kbopt::readVerifierReply(const json::Value &answer) {
  VerifierReply reply;
  std::string fault, verdict;
  Members members(answer, "", fault);
  members.text("verdict", verdict);
  members.text("reason", reply.reason);
  members.finish();
  if (fault.empty() && verdict != "accept" && verdict != "reject")
    members.fail("verdict", "is neither accept nor reject");
  if (!fault.empty())
    return malformed(fault);
  reply.accepted = verdict == "accept";
  reply.reason = oneLine(reply.reason, 2000);
  return reply;
}

//===-- Schemas -----------------------------------------------------------===//

/// What every change may have beside its text members.
static constexpr llvm::StringLiteral changeProperties = R"(
"edits":{"type":"array","items":{"type":"object","required":["anchor","text"],"additionalProperties":false,
"properties":{"anchor":{"type":"string"},"text":{"type":"string"}}}},
"parameters":{"type":"array","items":{"type":"object","required":["name","values","default"],"additionalProperties":false,
"properties":{"name":{"type":"string"},"values":{"type":"array","items":{"type":"string"}},"default":{"type":"string"}}}},
"promise":{"type":"string","enum":["bitwise","reassociates","lower-precision"]},
"assumes":{"type":"array","items":{"type":"string","enum":["aligned","noalias"]}}}})";

/// Of changes with the members \p texts, of which the first one, if any, and those of every change
/// are required.
static std::string replySchema(llvm::ArrayRef<StringRef> texts) {
  const std::string required = texts.empty() ? "" : "\"" + texts.front().str() + "\",";
  std::string members;
  for (StringRef name : texts)
    members += "\"" + name.str() + "\":{\"type\":\"string\"},\n";
  members += R"("summary":{"type":"string"},
"cannot":{"type":"string"},)";
  return R"({"type":"object","required":[)" + required +
         R"("summary","edits"],"additionalProperties":false,"properties":{
)" + members +
         changeProperties.str();
}

StringRef kbopt::coderSchema() {
  static const std::string schema = replySchema({"pass"});
  return schema;
}

StringRef kbopt::debuggerSchema() {
  static const std::string schema = replySchema({"pass", "dispute"});
  return schema;
}

StringRef kbopt::composeSchema() {
  static const std::string schema =
      R"({"type":"object","required":["pass"],"additionalProperties":false,"properties":{
"pass":{"type":"string"},
"unfit":{"type":"array","items":{"type":"string"}},
"schedule":{"type":"string"},
"summary":{"type":"string"},
"cannot":{"type":"string"},
"delete":{"type":"array","items":{"type":"string"}},)" +
      changeProperties.str();
  return schema;
}

StringRef kbopt::minimalSchema() {
  static const std::string schema = replySchema({});
  return schema;
}

StringRef kbopt::plannerSchema() {
  return R"({"type":"object","required":["pass","kernel","why","instruction"],"additionalProperties":false,"properties":{
"pass":{"type":"string"},
"kernel":{"type":"string"},
"unfit":{"type":"array","items":{"type":"string"}},
"why":{"type":"string"},
"instruction":{"type":"string"},
"schedule":{"type":"string"},
"places":{"type":"array","items":{"type":"object","required":["instruction"],"additionalProperties":false,
"properties":{"site":{"type":"integer"},"first":{"type":"integer"},"last":{"type":"integer"},"instruction":{"type":"string"}}}}}})";
}

StringRef kbopt::generalizerSchema() {
  return R"({"type":"object","additionalProperties":false,"properties":{
"edits":{"type":"array","maxItems":64,"items":{"type":"object","required":["program","old","new"],"additionalProperties":false,
"properties":{"program":{"type":"string","enum":["before","after"]},"old":{"type":"string"},"new":{"type":"string"}}}},
"cannot":{"type":"string"}}})";
}

StringRef kbopt::verifierSchema() {
  return R"({"type":"object","required":["verdict","reason"],"additionalProperties":false,"properties":{
"verdict":{"type":"string","enum":["accept","reject"]},
"reason":{"type":"string"}}})";
}
