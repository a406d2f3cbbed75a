//===- ReportJson.cpp - The figures of a search for programs --------------===//
// SPDX-License-Identifier: Apache-2.0
#include "kb-opt/Report/ReportPage.h"
#include "llvm/Support/JSON.h"

using namespace kbopt;
namespace json = llvm::json;

/// Program text and models' words may hold any bytes.
static json::Value words(llvm::StringRef text) { return json::fixUTF8(text); }

/// Zero stands for "unknown" in the records, null in the file.
static json::Value known(double figure) {
  return figure > 0 ? json::Value(figure) : json::Value(nullptr);
}

static json::Value toJson(const ReportAttempt &attempt) {
  json::Object object{{"phase", attempt.phase},
                      {"trajectory", attempt.trajectory},
                      {"pass", words(attempt.pass)},
                      {"move", words(attempt.step)},
                      {"outcome", attempt.isRefused ? "refused" : toString(attempt.outcome)},
                      {"verdict", words(attempt.verdict)},
                      {"reason", words(attempt.reason)},
                      {"us", known(attempt.us)},
                      {"parentUs", known(attempt.parentUs)},
                      {"predicted", known(attempt.predicted)},
                      {"state", words(attempt.state)},
                      {"judged", attempt.judged},
                      {"repair", attempt.repair},
                      {"tokens", attempt.tokens}};
  if (!attempt.dispute.empty())
    object["dispute"] = words(attempt.dispute);
  return object;
}

static json::Value toJson(const ReportRole &role) {
  return json::Object{
      {"role", role.role},
      {"calls", role.calls},
      {"promptTokens", role.promptTokens},
      {"completionTokens", role.completionTokens},
      {"dollars", role.dollars ? json::Value(*role.dollars) : json::Value(nullptr)}};
}

void kbopt::writeReportJson(llvm::raw_ostream &os, const ReportPage &page) {
  json::Array attempts, roles;
  json::Object timeline;
  for (const auto &[event, seconds] : page.timeline)
    timeline[event] = seconds;
  for (const ReportAttempt &attempt : page.attempts)
    attempts.push_back(toJson(attempt));
  for (const ReportRole &role : page.roles)
    roles.push_back(toJson(role));
  json::Value report = json::Object{{"version", 1},
                                    {"program", words(page.program)},
                                    {"chip", page.chip},
                                    {"device", words(page.device)},
                                    {"source", page.source},
                                    {"originalUs", known(page.originalUs)},
                                    {"bestUs", known(page.bestUs)},
                                    {"found", page.found},
                                    {"confirmed", page.confirmed},
                                    {"end", page.end},
                                    {"replay", words(page.replay)},
                                    {"judged", page.judged},
                                    {"merged", page.merged},
                                    {"pruned", page.pruned},
                                    {"counts", words(page.counts)},
                                    {"timeline", std::move(timeline)},
                                    {"seconds", known(page.seconds)},
                                    {"attempts", std::move(attempts)},
                                    {"roles", std::move(roles)}};
  os << llvm::formatv("{0:1}", report) << "\n";
}
