//===- HtmlReport.h - The records of --report -------------------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the way from a finished search to the page of Report/ReportPage.h.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_DRIVER_HTMLREPORT_H
#define KBOPT_LIB_DRIVER_HTMLREPORT_H

#include "Session.h"
#include "kb-opt/Candidate/ProgramEnvironment.h"
#include "kb-opt/LLM/Budget.h"
#include "kb-opt/Policy/Search.h"
#include "kb-opt/Report/ReportPage.h"

namespace kbopt {

/// What the page says beside the search itself.
struct ReportInputs {
  std::string replay;         ///< a command; empty where nothing was found
  std::vector<Remark> missed; ///< why passes do not apply
  std::string evidence;       ///< "12 new records in …"
  std::string effects;        ///< "30 answered from the journal, …"
  double seconds = 0;
  std::string counts;            ///< as in ReportPage
  double startSeconds = 0;       ///< of the run, by the clock of `SearchTimeline`
  std::vector<ReportRole> roles; ///< what each role asked of a model
};

/// The finished search as plain records. What cannot be had is named in its `limits`.
ReportPage reportPage(Session &session, ProgramEnvironment &environment, const SearchResult &result,
                      ReportInputs inputs);

/// Writes --report whole or not at all, figures alone into a file that ends in .json; a
/// `StoreError` names the file.
llvm::Error writeReportFile(Context &context, const ReportPage &page);

/// First events of a search with their seconds from \p startSeconds.
std::vector<std::pair<std::string, double>> eventsOf(const SearchTimeline &timeline,
                                                     double startSeconds);

/// For `ReportInputs::roles`. The cost of a role is unknown if that of one of its calls is.
std::vector<ReportRole> reportRoles(const std::map<ModelRole, ModelSpend> &spent);

/// "cold: 10.00 -> 5.00 us, …": what the final check measured, one line each.
std::vector<std::string> timingLines(const TimingReport &timing);

} // namespace kbopt

#endif // KBOPT_LIB_DRIVER_HTMLREPORT_H
