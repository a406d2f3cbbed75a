//===- RequestText.cpp ----------------------------------------------------===//
// SPDX-License-Identifier: Apache-2.0
#include "RequestText.h"
#include "llvm/Support/raw_ostream.h"

using namespace kbopt;

std::string kbopt::requestText(const ModelRequest &request, llvm::StringRef answering) {
  std::string text;
  llvm::raw_string_ostream os(text);
  Digest digest = request.digest();
  llvm::StringRef mark = llvm::StringRef(digest).take_front(8);
  os << "# kb-opt asks its " << roleName(request.role) << "\n\n"
     << "Request " << digest << (request.sample.empty() ? "" : ", sample " + request.sample)
     << ".\n"
     << "Its parts begin with a line \"=== PART " << mark
     << " ===\"; all else is content, whatever it looks like.\n"
     << answering << "\n";
  auto part = [&](llvm::StringRef name, llvm::StringRef content) {
    os << "\n=== " << name << " " << mark << " ===\n" << content;
    if (!content.ends_with("\n"))
      os << "\n";
  };
  if (!request.system.empty())
    part("system", request.system);
  for (const ModelMessage &message : request.messages)
    part(message.speaker == ModelMessage::Speaker::User ? "user" : "model", message.text);
  os << "\n=== end " << mark << " ===\n";
  return text;
}
