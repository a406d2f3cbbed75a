#include "kb-opt/Driver/Options.h"
#include "kb-opt/Support/Error.h"
#include "kb-opt/Support/FileSystem.h"
#include "gtest/gtest.h"

using namespace kbopt;

static std::string errorOf(std::vector<const char *> arguments) {
  auto options = parseOptions(arguments);
  if (options)
    return "";
  std::string text;
  llvm::raw_string_ostream os(text);
  EXPECT_EQ(reportError(os, "kb-opt", options.takeError()), ExitStatus::Usage);
  return text;
}

TEST(Options, Defaults) {
  auto options = parseOptions({"-passes=auto", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(options));
  EXPECT_TRUE(options->isAuto());
  EXPECT_EQ(options->input, "a.cu");
  EXPECT_EQ(options->emit, Emit::Diff);
  EXPECT_EQ(options->chip, "") << "the device's, or h200";
  EXPECT_EQ(options->device, DeviceKind::Cpu);
  EXPECT_FALSE(options->flags.has_value());
  EXPECT_TRUE(options->sandbox);
}

TEST(Options, AFileGetsTheProgram) {
  EXPECT_EQ(parseOptions({"-passes=a", "a.cu", "-o", "b.cu"})->emit, Emit::Source);
  EXPECT_EQ(parseOptions({"-passes=a", "a.cu", "-o", "b.patch", "--emit=diff"})->emit, Emit::Diff);
}

TEST(Options, AReportIsOfASearch) {
  EXPECT_EQ(parseOptions({"-passes=auto", "--report=r.html", "a.cu"})->reportFile, "r.html");
  EXPECT_NE(errorOf({"-passes=a", "--report=r.html", "a.cu"}).find("'--report' is of a search"),
            std::string::npos);
  EXPECT_NE(errorOf({"-passes=auto", "--report=", "a.cu"}).find("'--report=' names no file"),
            std::string::npos);
}

TEST(Options, OneAndTwoDashes) {
  auto options =
      parseOptions({"--passes=a,b{width=4}", "-budget-seconds=1.5", "--seed=7", "-j4", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(options));
  EXPECT_EQ(options->passes, "a,b{width=4}");
  EXPECT_EQ(options->budgetSeconds, 1.5);
  EXPECT_EQ(options->seed, 7u);
  EXPECT_EQ(options->jobs, 4u);
}

TEST(Options, FlagsBehindDashesAreTheCompilers) {
  auto options = parseOptions({"-passes=auto", "a.cu", "--", "-lineinfo", "--emit=x"});
  ASSERT_TRUE(static_cast<bool>(options));
  EXPECT_EQ(*options->flags, (std::vector<std::string>{"-lineinfo", "--emit=x"}));
  auto none = parseOptions({"-passes=auto", "a.cu", "--"});
  ASSERT_TRUE(static_cast<bool>(none));
  EXPECT_TRUE(none->flags && none->flags->empty());
}

TEST(Options, StrategiesAndAblations) {
  auto options = parseOptions({"-passes=auto", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(options));
  EXPECT_EQ(options->strategy, "rollout");
  EXPECT_TRUE(options->memory && options->profile && !options->crossover && !options->minimalAgent);
  options = parseOptions(
      {"-passes=auto", "--strategy=tree", "--crossover", "--no-memory", "--no-profile", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(options));
  EXPECT_EQ(options->strategy, "tree");
  EXPECT_TRUE(options->crossover && !options->memory && !options->profile);
  options = parseOptions({"-passes=auto", "--minimal-agent", "--llm=mailbox:letters", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(options));
  EXPECT_EQ(options->strategy, "minimal");
  EXPECT_EQ(options->roles, StepRoles::Compose);
  options = parseOptions({"-passes=auto", "--roles=plan-code", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(options));
  EXPECT_EQ(options->roles, StepRoles::PlanCode);
  EXPECT_EQ(errorOf({"-passes=auto", "--roles=all", "a.cu"}),
            "kb-opt: error: unknown roles 'all'\n"
            "kb-opt: note: it is one of compose, plan-code\n");
  EXPECT_EQ(errorOf({"-passes=auto", "--minimal-agent", "--llm=mailbox:letters", "--roles=compose",
                     "a.cu"}),
            "kb-opt: error: the minimal agent is one role for all\n"
            "kb-opt: note: drop '--roles' or '--minimal-agent'\n");
  EXPECT_EQ(errorOf({"-passes=auto", "--minimal-agent", "--strategy=tree", "a.cu"}),
            "kb-opt: error: '--minimal-agent' is a strategy of its own\n"
            "kb-opt: note: drop '--strategy'\n");
  EXPECT_EQ(errorOf({"-passes=auto", "--minimal-agent", "a.cu"}),
            "kb-opt: error: the minimal agent is a model, and no model is asked\n"
            "kb-opt: note: name a provider with --llm\n");
}

TEST(Options, Devices) {
  EXPECT_EQ(parseOptions({"-passes=auto", "--device=cpu", "a.cu"})->device, DeviceKind::Cpu);
  EXPECT_EQ(parseOptions({"-passes=auto", "--device=cuda", "a.cu"})->device, DeviceKind::Cuda);
  EXPECT_EQ(parseOptions({"-passes=auto", "--device=cuda:2,0", "a.cu"})->cards, "2,0");
  auto spool = parseOptions({"-passes=auto", "--device=spool:/a/b", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(spool));
  EXPECT_EQ(spool->device, DeviceKind::Spool);
  EXPECT_EQ(spool->spoolFolder, "/a/b");
  EXPECT_TRUE(spool->hasGpu());
  EXPECT_EQ(
      errorOf({"-passes=auto", "--device=spool:", "a.cu"}),
      "kb-opt: error: '--device=spool:' names no folder\n"
      "kb-opt: note: write --device=spool:DIR, and start 'kb-run serve DIR' where the GPU is\n");
  EXPECT_EQ(
      errorOf({"-passes=auto", "--device=gpu", "a.cu"}),
      "kb-opt: error: unknown device 'gpu'\n"
      "kb-opt: note: it is cpu (times are modelled), cuda (a GPU of this machine; cuda:all, "
      "cuda:0,2: several), spool:DIR (a kb-run elsewhere) or postgresql://... (workers behind a "
      "database)\n");
  auto cluster = parseOptions({"-passes=auto", "--device=postgresql://db/kb", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(cluster));
  EXPECT_EQ(cluster->device, DeviceKind::Cluster);
  EXPECT_EQ(cluster->clusterUrl, "postgresql://db/kb");
  EXPECT_EQ(cluster->clusterDevice, "");
  EXPECT_FALSE(cluster->hasGpu()); // the workers decide
  cluster = parseOptions({"-passes=auto", "--device=cuda:postgresql:///kb", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(cluster));
  EXPECT_EQ(cluster->clusterUrl, "postgresql:///kb");
  EXPECT_EQ(cluster->clusterDevice, "cuda");
}

TEST(Options, UnknownOptionSuggestsTheNearest) {
  EXPECT_EQ(errorOf({"--budget-second=3", "a.cu"}),
            "kb-opt: error: unknown option '--budget-second=3'\n"
            "kb-opt: note: did you mean '--budget-seconds=3'?\n");
}

TEST(Options, UnknownOptionFarFromAll) {
  EXPECT_EQ(errorOf({"-Xptxas", "a.cu"}),
            "kb-opt: error: unknown option '-Xptxas'\n"
            "kb-opt: note: see kb-opt --help; the compiler's own flags go behind '--'\n");
}

TEST(Options, ValuesAreChecked) {
  EXPECT_EQ(errorOf({"-passes=auto", "--budget-candidates=0", "a.cu"}),
            "kb-opt: error: invalid value '0' for '--budget-candidates'\n"
            "kb-opt: note: give a number that is at least 1\n");
  EXPECT_EQ(errorOf({"-passes=auto", "--seed=x", "a.cu"}),
            "kb-opt: error: invalid value 'x' for '--seed'\n"
            "kb-opt: note: give a number that is at least 0\n");
  EXPECT_EQ(
      errorOf({"--emit=ptx", "a.cu"}),
      "kb-opt: error: unknown kind 'ptx' for '--emit'\n"
      "kb-opt: note: it is one of diff, source, kb-ir, kb-nest, schedules, plan, job, workload, "
      "profile, profile-json, anchors, findings, findings-yaml, findings-json, sarif\n");
}

TEST(Options, InputsAreCounted) {
  EXPECT_EQ(errorOf({"-passes=auto"}),
            "kb-opt: error: no input file\n"
            "kb-opt: note: name a CUDA file: kb-opt -passes=auto kernel.cu, or with -p and "
            "--target a program of a build\n");
  EXPECT_EQ(errorOf({"-passes=auto", "a.cu", "b.cu"}), "");
  EXPECT_EQ(errorOf({"-passes=auto", "-o", "c.cu", "a.cu", "b.cu"}),
            "kb-opt: error: '-o' is for one program, and several are named\n"
            "kb-opt: note: run kb-opt once for each file\n");
  EXPECT_EQ(
      errorOf({"--emit=kb-ir", "a.cu", "b.cu"}),
      "kb-opt: error: '--emit' is for one program, and several are named\n"
      "kb-opt: note: run-kb-opt -emit=sarif makes one document of the files of a build; or run "
      "kb-opt once for each file\n");
  EXPECT_EQ(errorOf({"-passes=a", "--fix", "a.cu", "-"}),
            "kb-opt: error: '--fix' is of a file, and the program comes from stdin\n"
            "kb-opt: note: pass -o - for the rewritten program\n");
  EXPECT_EQ(errorOf({"a.cu"}), ""); // findings
  EXPECT_EQ(errorOf({"-o", "b.cu", "a.cu"}),
            "kb-opt: error: no pipeline\n"
            "kb-opt: note: try -passes=auto, or name passes: kb-opt --list-passes\n");
  EXPECT_EQ(errorOf({"-passes=", "a.cu"}),
            "kb-opt: error: the pipeline is empty\n"
            "kb-opt: note: name at least one pass, as in -passes=unroll-loop; kb-opt --list-passes "
            "shows them\n");
}

TEST(Options, FixExcludesOutput) {
  EXPECT_EQ(errorOf({"-passes=a", "--fix", "-o", "b.cu", "a.cu"}),
            "kb-opt: error: '--fix' and '-o' exclude each other\n"
            "kb-opt: note: choose where the result goes\n");
}

TEST(Options, HelpStaysShort) {
  std::string text;
  llvm::raw_string_ostream os(text);
  printHelp(os);
  EXPECT_LE(llvm::StringRef(text).count('\n'), 80u);
  EXPECT_NE(text.find("--passes=<pipeline>"), std::string::npos) << text;
}

TEST(Options, Models) {
  auto options = parseOptions({"-passes=auto", "--llm=openai", "--llm-model=m",
                               "--llm-base-url=http://localhost:1/v1", "--llm-record=t.jsonl",
                               "--llm-prices=p.yaml", "--budget-dollars=0.5",
                               "--budget-tokens=1000", "--budget-calls=0", "a.cu"});
  ASSERT_TRUE(static_cast<bool>(options));
  FakeFileSystem files;
  ModelSettings settings = llvm::cantFail(modelSettings(*options, files));
  EXPECT_EQ(settings.provider.kind, ProviderKind::OpenAi);
  EXPECT_EQ(settings.forRole(ModelRole::Coder).model, "m");
  EXPECT_EQ(settings.baseUrl, "http://localhost:1/v1");
  EXPECT_EQ(settings.recordFile, "t.jsonl");
  EXPECT_EQ(settings.pricesFile, "p.yaml");
  EXPECT_EQ(settings.budget.dollars, 0.5);
  EXPECT_EQ(settings.budget.tokens, 1000u);
  EXPECT_EQ(settings.budget.calls, 0u);
}

TEST(Options, ModelsAreOffUnlessAsked) {
  FakeFileSystem files;
  auto provider = [&](std::vector<const char *> arguments) {
    return llvm::cantFail(modelSettings(llvm::cantFail(parseOptions(arguments)), files))
        .provider.text();
  };
  files.files["c.yaml"] = "provider: mailbox:box\nmodel: theirs\nroles: {coder: {model: own}}\n";
  EXPECT_EQ(provider({"-passes=auto", "a.cu"}), "off");
  EXPECT_EQ(provider({"-passes=auto", "--llm-config=c.yaml", "a.cu"}), "mailbox:box");
  EXPECT_EQ(provider({"-passes=auto", "--llm-config=c.yaml", "--llm=off", "a.cu"}), "off");
  auto options = llvm::cantFail(
      parseOptions({"-passes=auto", "--llm-config=c.yaml", "--llm-model=mine", "a.cu"}));
  ModelSettings settings = llvm::cantFail(modelSettings(options, files));
  EXPECT_EQ(settings.forRole(ModelRole::Planner).model, "mine");
  EXPECT_EQ(settings.forRole(ModelRole::Coder).model, "own");
}
