//===- ReportPage.cpp - The page that --report writes ---------------------===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the document: its head, the order of the sections, and what is said of those that
// are left out. A policy in the head lets no other script run than the page's own and
// nothing be loaded, whatever a text might slip past `escaped`.
//
//===----------------------------------------------------------------------===//
#include "ReportParts.h"
#include "llvm/Support/Base64.h"
#include "llvm/Support/SHA256.h"

using namespace kbopt;
using namespace kbopt::report;
using llvm::formatv;

void report::writeHead(llvm::raw_ostream &os, const ReportPage &page) {
  bool measured = !page.device.empty();
  std::string chip = escaped(measured ? page.device : page.chip);
  os << formatv("<header class=\"card\" id=\"top\">\n<h1><code>{0}</code> <span class=\"soft\">{1} "
                "{2} {3}</span></h1>\n",
                escaped(page.program), escaped(page.source), measured ? "on" : "for", chip);
  os << "<div class=\"head\">\n";
  if (page.found && page.bestUs > 0) {
    os << formatv("<div><div class=\"big\">{0} faster</div>",
                  factor(page.originalUs / page.bestUs));
    if (page.lowerBound)
      os << formatv("<div>at least {0:f3} × (95 %)</div>", *page.lowerBound);
    os << formatv("</div>\n<div><div>{0} → <b>{1}</b> <span class=\"soft\">{2}</span></div>",
                  micros(page.originalUs), micros(page.bestUs), escaped(page.source));
    if (!measured)
      os << formatv("<div class=\"soft\">a model's figure: rank by it, do not report it; no lower "
                    "bound without a "
                    "GPU</div>");
  } else {
    os << formatv("<div><div class=\"big stays\">stays as it is</div></div>\n<div><div>nothing "
                  "better was found; {0} "
                  "<span class=\"soft\">{1}</span></div>",
                  micros(page.originalUs), escaped(page.source));
  }
  for (const std::string &timing : page.timings)
    os << "<div class=\"soft\">" << escaped(timing) << "</div>";
  os << formatv("<div>{0} attempt{1}, {2} candidate{3} judged; {4}</div>", page.attempts.size(),
                page.attempts.size() == 1 ? "" : "s", page.judged, page.judged == 1 ? "" : "s",
                escaped(page.end));
  if (!page.counts.empty())
    os << "<div>" << escaped(page.counts) << "</div>";
  if (page.found)
    os << (page.confirmed ? "<div>every gate passed on every case</div>"
                          : "<div><b>not proven</b>: the run ended before every gate had passed "
                            "on every case</div>");
  os << "</div>\n</div>\n";
  if (!page.replay.empty())
    os << formatv("<div class=\"replay\"><code id=\"replay\">{0}</code><button type=\"button\" "
                  "data-copy=\"replay\" "
                  "hidden=\"hidden\">copy</button></div>\n",
                  escaped(page.replay));
}

namespace {

/// The page's body below its head: sections with their names for the navigation.
struct Body {
  std::string text;
  std::vector<std::pair<std::string, std::string>> links; ///< anchor, name
  std::vector<std::string> absent;
};

Body bodyOf(const ReportPage &page) {
  Body body;
  llvm::raw_string_ostream os(body.text);
  auto section = [&](bool there, const char *anchor, const char *name, const std::string &why) {
    if (there)
      body.links.emplace_back(anchor, name);
    else
      body.absent.push_back(std::string(name) + ": " + why);
  };
  const std::string nothing = page.found ? "unknown" : "no faster program was proven";
  const std::string untried =
      page.missed.empty() ? "nothing was tried" : "nothing was tried, no pass applies";
  section(writePipeline(os, page), "pipeline", "pipeline", nothing);
  os << "<div class=\"pair\">\n";
  section(writeGainChart(os, page), "gain", "gain over time", untried);
  std::string why;
  section(writeRoofline(os, page, why), "roofline", "roofline", why);
  os << "</div>\n";
  section(writePatch(os, page), "patch", "patch", nothing);
  section(writeKernels(os, page), "kernels", "kernels", "no metrics are known");
  section(writeSource(os, page), "source", "source lines", "no cost of lines is known");
  section(writeGates(os, page), "proof", "proof",
          page.found ? "the run ended before the final check" : nothing);
  section(writeTimeline(os, page), "timeline", "timeline", "nothing was timed");
  section(writeTree(os, page), "tree", "search tree", untried);
  section(writeLessons(os, page), "lessons", "lessons",
          page.roles.empty() ? "no model was asked" : "the models wrote none");
  section(writeCost(os, page), "cost", "cost", "no model was asked");
  if (writeMissed(os, page))
    body.links.emplace_back("missed", "what does not apply");
  section(writeFacts(os, page), "run", "this run", "unknown");
  for (const std::string &limit : page.limits)
    body.absent.push_back(limit);
  return body;
}

std::string scriptHash() {
  llvm::SHA256 hash;
  hash.update(script);
  return llvm::encodeBase64(hash.final());
}

} // namespace

void kbopt::writeReport(llvm::raw_ostream &os, const ReportPage &page) {
  Body body = bodyOf(page);
  os << formatv(
            "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
            "<meta charset=\"utf-8\" />\n"
            "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
            "'unsafe-inline'; "
            "script-src 'sha256-{0}'; base-uri 'none'; form-action 'none'\" />\n"
            "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\" />\n"
            "<title>{1} – kb-opt</title>\n",
            scriptHash(), escaped(page.program))
     << "<style>" << styleSheet << "</style>\n</head>\n<body>\n";
  writeHead(os, page);
  os << "<nav>";
  for (const auto &[anchor, name] : body.links)
    os << formatv("<a href=\"#{0}\">{1}</a> ", anchor, name);
  os << "</nav>\n</header>\n<main>\n" << body.text;
  if (!body.absent.empty()) {
    os << "<section id=\"absent\">\n<h2>Not on this page</h2>\n<ul class=\"soft\">\n";
    for (const std::string &line : body.absent)
      os << "<li>" << escaped(line) << "</li>\n";
    os << "</ul>\n</section>\n";
  }
  os << "</main>\n<div id=\"detail\" hidden=\"hidden\"><button type=\"button\" "
        "id=\"detail-close\">close</button>"
        "<dl id=\"detail-body\"></dl></div>\n<script>"
     << script << "</script>\n</body>\n</html>\n";
}
