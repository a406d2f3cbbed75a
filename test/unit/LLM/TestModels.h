//===- TestModels.h - Models without a service ------------------*- C++ -*-===//
#ifndef KBOPT_TEST_UNIT_LLM_TESTMODELS_H
#define KBOPT_TEST_UNIT_LLM_TESTMODELS_H

#include "kb-opt/LLM/Model.h"
#include "kb-opt/Support/Error.h"
#include "llvm/Support/raw_ostream.h"
#include <functional>
#include <mutex>

namespace kbopt {

inline ModelRequest question(llvm::StringRef text, ModelRole role = ModelRole::Coder) {
  ModelRequest request;
  request.role = role;
  request.system = "You write CUDA.";
  request.messages.push_back({ModelMessage::Speaker::User, text.str()});
  return request;
}

/// Answers with a function and keeps what it was asked.
class FunctionModel : public Model {
public:
  using Answer =
      std::function<llvm::Expected<ModelReply>(const ModelRequest &request, size_t number)>;
  explicit FunctionModel(Answer answer) : answer(std::move(answer)) {}
  llvm::Expected<ModelReply> complete(const ModelRequest &request) override {
    size_t number;
    {
      std::lock_guard<std::mutex> lock(mutex);
      number = asked.size();
      asked.push_back(request);
    }
    return answer(request, number);
  }
  std::vector<ModelRequest> asked;

private:
  std::mutex mutex;
  Answer answer;
};

inline ModelReply replyWith(llvm::StringRef text, uint64_t prompt = 10, uint64_t completion = 5) {
  ModelReply reply;
  reply.text = text.str();
  reply.usage.prompt = prompt;
  reply.usage.completion = completion;
  return reply;
}

/// "kb-opt: error: …" and its note; the status goes to \p status.
template <typename T> std::string errorText(llvm::Expected<T> value, ExitStatus *status = nullptr) {
  if (value)
    return "no error";
  std::string text;
  llvm::raw_string_ostream os(text);
  ExitStatus got = reportError(os, "kb-opt", value.takeError());
  if (status)
    *status = got;
  return text;
}
inline std::string errorText(llvm::Error error, ExitStatus *status = nullptr) {
  if (!error)
    return "no error";
  return errorText(llvm::Expected<int>(std::move(error)), status);
}

} // namespace kbopt

#endif // KBOPT_TEST_UNIT_LLM_TESTMODELS_H
