//===- Generalizer.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Agents/Generalizer.h"
#include "kb-opt/Assisted/PromptBuilder.h"
#include "kb-opt/LLM/StructuredReply.h"
#include "kb-opt/Plan/Workload.h"

using namespace kbopt;
using llvm::StringRef;
namespace json = llvm::json;

/// Carries the edits of \p answer out. Returns what is wrong with them, for the model to mend.
static std::string edit(RecipePrograms &programs, const json::Value &answer) {
  const json::Object &object = *answer.getAsObject();
  const json::Array *edits = object.getArray("edits");
  const bool declines = !object.getString("cannot").value_or("").empty();
  if (declines != (!edits || edits->empty()))
    return declines ? "$.cannot: with edits there is no reason that it cannot be done"
                    : "$.edits: expected an edit, or the reason in 'cannot'";
  for (size_t index = 0; edits && index != edits->size(); ++index) {
    const json::Object &each = *(*edits)[index].getAsObject();
    const StringRef name = *each.getString("program"), old = *each.getString("old");
    std::string &text = name == "before" ? programs.before : programs.after;
    const std::string place = "$.edits[" + std::to_string(index) + "].old: ";
    // The workload is not shown, and is no place for an edit.
    const size_t shown = old.empty() ? 0 : StringRef(withoutWorkload(text)).count(old);
    const size_t count = old.empty() ? 0 : StringRef(text).count(old);
    if (shown == 1 && count > 1)
      return place + "it occurs in the workload of '" + name.str() + "' as well; give more text";
    if (count != 1 || shown != 1)
      return place + "it occurs " + std::to_string(shown) + " times in '" + name.str() +
             "', expected once";
    text.replace(text.find(old.str()), old.size(), each.getString("new")->str());
  }
  return "";
}

llvm::Expected<GeneralizerAnswer>
kbopt::askGeneralizer(Model &model, const RecipePrograms &programs, StringRef reason) {
  GeneralizerWindow window;
  window.before = withoutWorkload(programs.before);
  window.after = withoutWorkload(programs.after);
  window.reason = reason.str();
  auto check = [&](const json::Value &answer) {
    RecipePrograms edited = programs;
    return edit(edited, answer);
  };
  auto answer = askStructured(model, generalizerRequest(window),
                              llvm::cantFail(json::parse(generalizerSchema())), {}, {}, check);
  if (!answer) {
    auto none = noReply(answer.takeError());
    if (!none)
      return none.takeError();
    return GeneralizerAnswer{{}, none->reason};
  }
  if (!answer->ok())
    return GeneralizerAnswer{{}, (toString(answer->outcome) + ", " + answer->problem).str()};
  if (auto cannot = answer->value.getAsObject()->getString("cannot"); cannot && !cannot->empty())
    return GeneralizerAnswer{{}, "the model says: " + cannot->str()};
  GeneralizerAnswer result{programs, ""};
  edit(result.programs, answer->value); // as the check did
  return result;
}
