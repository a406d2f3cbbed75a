//===- AlignStructure.cpp - Read the fields of structures as vectors -------===//
// SPDX-License-Identifier: Apache-2.0
//
//   struct Body {                    struct alignas(16) Body {
//     float x, y, z, mass;     ==>     float x, y, z, mass;
//   };                               };
//
// Owns the choice of the structure and of its alignment. AlignedUses.h owns whether the program
// allows it; the compiler makes vectors of fields that are read together.
//
//===----------------------------------------------------------------------===//

#include "AlignedUses.h"
#include "kb-opt/Rewrite/AstTools.h"

using namespace kbopt;
using namespace clang;

namespace {

/// The widest access of a thread.
constexpr int64_t widest = 16;

/// A structure that a kernel uses through a pointer.
struct Candidate {
  const RecordDecl *structure = nullptr;
  int64_t alignment = 0; ///< that it can have
  std::string obstacle;
};

/// How many scalars of \p structure \p kernel uses, two for an array or the structure as a whole.
unsigned fieldsUsed(const PassContext &context, const KernelView &kernel,
                    const RecordDecl *structure) {
  std::set<const Decl *> fields;
  unsigned more = 0;
  for (const FunctionDecl *function : ast::deviceFunctionsIn(context, kernel)) {
    for (const auto *member : ast::findAll<MemberExpr>(function->getBody()))
      if (const auto *field = dyn_cast<FieldDecl>(member->getMemberDecl());
          field && field->getParent()->getCanonicalDecl() == structure->getCanonicalDecl()) {
        fields.insert(field);
        more += !field->getType()->isScalarType();
      }
    for (const auto *made : ast::findAll<CXXConstructExpr>(function->getBody()))
      more += made->getConstructor()->getParent()->getCanonicalDecl() ==
                  structure->getCanonicalDecl() &&
              made->getConstructor()->isCopyOrMoveConstructor();
  }
  return fields.size() + more;
}

Candidate candidateFor(const PassContext &context, const KernelView &kernel, QualType type) {
  const RecordDecl *structure = type->getAsRecordDecl();
  structure = structure ? structure->getDefinition() : nullptr;
  Candidate candidate{structure, widest, ""};
  if (!structure)
    return candidate;
  const ASTContext &ast = context.parsed().context();
  const std::string name = "'" + align::nameOf(structure) + "'";
  const auto *plain = dyn_cast<CXXRecordDecl>(structure);
  const int64_t size = ast.getTypeSizeInChars(type).getQuantity(),
                own = ast.getTypeAlignInChars(type).getQuantity();
  while (candidate.alignment > 1 && size % candidate.alignment)
    candidate.alignment /= 2;
  if (!context.parsed().sources().isWrittenInMainFile(structure->getLocation()))
    candidate.obstacle = name + " is defined in another file";
  else if (structure->isUnion() || (plain && (!plain->isStandardLayout() || plain->isLambda() ||
                                              isa<ClassTemplateSpecializationDecl>(plain))))
    candidate.obstacle = name + " is no plain structure";
  else if (structure->hasAttr<AlignedAttr>() || structure->hasAttr<PackedAttr>() ||
           structure->hasAttr<MaxFieldAlignmentAttr>())
    candidate.obstacle = name + " says how it is aligned";
  else if (candidate.alignment <= own)
    candidate.obstacle =
        "the size of " + name + ", " + std::to_string(size) + " bytes, allows no larger alignment";
  else if (fieldsUsed(context, kernel, structure) < 2)
    candidate.obstacle = "the kernel uses one field of " + name + " at most";
  else
    candidate.obstacle = align::obstacleTo(context, structure);
  return candidate;
}

class AlignStructure : public RewritePass {
public:
  std::vector<Site> sites(const PassContext &, const KernelView &kernel) const override {
    const bool hasStructure = llvm::any_of(kernel.function()->parameters(), [](const auto *each) {
      return each->getType()->isPointerType() && each->getType()->getPointeeType()->isRecordType();
    });
    return hasStructure ? ast::kernelSites(kernel) : std::vector<Site>();
  }

  llvm::Expected<Rewrite> rewrite(const PassContext &context, const Site &site,
                                  const PassOptions &) const override {
    std::map<const RecordDecl *, Candidate> candidates;
    std::string obstacle;
    for (const ParmVarDecl *parameter : site.kernel->function()->parameters()) {
      if (!parameter->getType()->isPointerType())
        continue;
      Candidate candidate =
          candidateFor(context, *site.kernel, parameter->getType()->getPointeeType());
      if (candidate.structure && candidate.obstacle.empty())
        candidates.try_emplace(candidate.structure, candidate);
      else if (obstacle.empty())
        obstacle = candidate.obstacle;
    }
    if (candidates.empty())
      return decline(obstacle.empty() ? "the kernel uses no structure by a pointer" : obstacle);
    Rewrite rewrite;
    const ParsedProgram &program = context.parsed();
    for (const auto &[structure, candidate] : candidates) {
      AnchorOrReason anchor = anchorOf(program, structure);
      if (!anchor)
        return decline(anchor.reason());
      // The keyword, and not a place behind it: of several kernels one makes the change.
      const std::string text =
          (structure->getKindName() + " alignas(" + llvm::Twine(candidate.alignment) + ")").str();
      if (llvm::Error error =
              rewrite.edits.replace(*anchor, program, structure->getOuterLocStart(), text))
        return std::move(error);
      rewrite.summary += (rewrite.summary.empty() ? "" : ", ") + std::string("aligned '") +
                         align::nameOf(structure) + "' to " + std::to_string(candidate.alignment) +
                         " bytes";
    }
    return rewrite;
  }
};

} // namespace

namespace kbopt {
std::unique_ptr<RewritePass> createAlignStructure() { return std::make_unique<AlignStructure>(); }
} // namespace kbopt
