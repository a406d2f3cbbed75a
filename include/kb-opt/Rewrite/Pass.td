//===- Pass.td - How a rewrite pass is declared ------------*- tablegen -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the TableGen classes of passes/<family>/<pass>/Pass.td. The folder of a
// pass with C++ declares one `RewritePass`; cmake/GeneratePasses.py turns all of
// them into the registry, and into the pages under docs/passes/. A prompt.md beside
// it is the pass's assisted form. A pass without C++ has a pass.yaml instead.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_REWRITE_PASS_TD
#define KBOPT_REWRITE_PASS_TD

class Promise<string name> { string cpp = name; }
def Bitwise : Promise<"Bitwise">;
def Reassociates : Promise<"Reassociates">;
def LowerPrecision : Promise<"LowerPrecision">;

// What a rewrite relies on, or tests at run time, though a caller need not grant it.
class Assumption<string name> { string cpp = name; }
def Aligned : Assumption<"Aligned">;
def NoAlias : Assumption<"NoAlias">;

class SiteKind<string name> { string cpp = name; }
def KernelSite : SiteKind<"Kernel">;
def ParameterSite : SiteKind<"Parameter">;
def LoopSite : SiteKind<"Loop">;
def AccessSite : SiteKind<"Access">;
def SharedSite : SiteKind<"Shared">;
def LaunchSite : SiteKind<"Launch">;

class PassOption<string optionName, string cppType, string default, string text> {
  string name = optionName;
  string type = cppType;
  string defaultValue = default;
  string summary = text;
  // Values that a policy may try, as written in a pipeline.
  list<string> tuning = [];
  int minimum = 0;
  int maximum = 0;
}
// From `least` to `greatest`, both included; a policy tries `tried`.
class IntegerOption<string name, int default, int least, int greatest, string summary,
                    list<string> tried = []>
    : PassOption<name, "Integer", !cast<string>(default), summary> {
  let tuning = tried;
  let minimum = least;
  let maximum = greatest;
}
class BooleanOption<string name, bit default, string summary>
    : PassOption<name, "Boolean", !if(default, "true", "false"), summary>;
class ChoiceOption<string name, string default, string summary, list<string> tried>
    : PassOption<name, "String", default, summary> {
  let tuning = tried;
}
class StringOption<string name, string default, string summary>
    : PassOption<name, "String", default, summary>;

// A number that a reply leaves open, as `{{NAME}}`, for tuning to fill.
class ReplyParameter<string parameterName, string default, list<string> tried, string text> {
  string name = parameterName;
  string defaultValue = default;
  list<string> values = tried;
  string summary = text;
}

// The def's name is the C++ class: `def UnrollLoop` is made by
// `createUnrollLoop()` in UnrollLoop.cpp.
class RewritePass<string passName> {
  string name = passName;
  list<string> aliases = [];
  // One line, an imperative sentence without a full stop.
  string summary;
  // Markdown: what it does, when it applies, when it does not, and the cost.
  string description;
  list<PassOption> options = [];
  // Names of the states it answers, as in the knowledge base.
  list<string> states;
  // Other passes: those that must not stand in one pipeline with it on the same kernel, those that tend to apply or
  // pay behind it, and those whose values should be tuned again behind it. The seed knowledge's edges come from here.
  list<string> excludes = [];
  list<string> enables = [];
  list<string> retunes = [];
  SiteKind site;
  Promise promise;
  // Gate G7 runs the cases that take these away.
  list<Assumption> assumes = [];
  // Smallest compute capability, 10 * major + minor.
  int minimumChip = 0;
  // Whether it needs features of that very chip, which only code for its own architecture may use: sm_90a.
  bit exactChip = 0;
  // What replies of the assisted form may use (`allowances` in PassInfo.h).
  list<string> allow = [];
  // Numbers that replies of the assisted form leave open.
  list<ReplyParameter> parameters = [];
  // clang-query's text for the nodes that make a kernel worth asking a model about, bound as "site".
  string matcher = "";
}

#endif // KBOPT_REWRITE_PASS_TD
