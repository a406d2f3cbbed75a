//===- SplitArray.h - An array of structures that is taken apart -*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns what the parts of the pass say to each other: which arrays a structure becomes, and a
// variable that stands for the array in one function, with the changes of the text around it.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_PASSES_AOS_TO_SOA_SPLITARRAY_H
#define KBOPT_PASSES_AOS_TO_SOA_SPLITARRAY_H

#include "kb-opt/Rewrite/AstTools.h"

namespace kbopt::split {

/// One array that a structure becomes: a field, or an element of an array in it.
struct Part {
  const clang::FieldDecl *field;
  int64_t element = -1;  ///< of the field's array; -1: the field itself
  clang::QualType type;  ///< without qualifiers
  std::string name;      ///< "mass", "at2"
  std::string selection; ///< ".mass", ".at[2]"
};

/// What a structure becomes.
class Layout {
public:
  Layout(const clang::ASTContext &context, clang::QualType type);

  const std::string &obstacle() const { return why; }
  /// What the program calls the structure.
  const std::string &name() const { return typeName; }
  clang::QualType type() const { return structure; }
  const std::vector<Part> &parts() const { return all; }
  std::vector<unsigned> partsOf(const clang::FieldDecl *field) const;
  /// Whether bytes of the structure belong to no field.
  bool hasPadding() const { return padded; }
  /// Whether `S{a, b}` makes one of its fields.
  bool isAggregate() const;
  /// `S{…}` of the texts of the parts; a part without text is not read.
  std::string construct(const std::map<unsigned, std::string> &texts) const;
  /// A parameter or variable for part \p index: "const float *__restrict__ name".
  std::string pointer(unsigned index, const std::string &name, bool isConst,
                      bool isRestrict = false) const;

private:
  const clang::ASTContext *context;
  clang::QualType structure;
  std::string typeName, why;
  std::vector<Part> all;
  bool padded = false;
};

/// A text for the bytes [begin, end) of the file.
struct Change {
  unsigned begin, end;
  std::string text;
};

/// A parameter or variable that points to the first structure.
struct Pointer {
  const clang::VarDecl *variable = nullptr;
  const clang::FunctionDecl *function = nullptr; ///< around it
  const Layout *layout = nullptr;
  std::set<std::string> *taken = nullptr; ///< names of parts' pointers in the function
  std::map<unsigned, std::string> names;  ///< of the pointers to the parts that are used
  std::set<unsigned> written;
  bool inLoop = false; ///< a loop of the function uses it
  /// Functions that are handed it as it is, by an argument with this text.
  struct Handed {
    const clang::Expr *argument;
    const clang::FunctionDecl *callee;
    unsigned parameter;
  };
  std::vector<Handed> handed;
  std::vector<Change> changes;

  /// The pointer to part \p index, which is used from here on.
  const std::string &nameOf(const PassContext &context, unsigned index);
};

/// The way up from each node of a function's body.
class Parents {
public:
  explicit Parents(const clang::FunctionDecl *function);
  const clang::Stmt *of(const clang::Stmt *node) const { return up.lookup(node); }

private:
  llvm::DenseMap<const clang::Stmt *, const clang::Stmt *> up;
};

/// A parameter of a function that runs on the device: fills its parts, changes and functions.
/// Returns why its uses cannot be changed; empty if they can.
std::string followDevice(const PassContext &context, Pointer &pointer);

/// What the host does with an array.
struct HostLife {
  const clang::Stmt *allocation = nullptr;       ///< the statement around cudaMalloc
  const clang::Expr *bytes = nullptr;            ///< that are allocated
  std::vector<const clang::Stmt *> fills;        ///< statements after which the structures are new
  std::vector<const clang::Stmt *> partialFills; ///< those of them that may fill a part
  std::vector<const clang::Stmt *> reads;        ///< statements that copy the structures
  std::vector<const clang::Stmt *> releases;
  std::vector<const clang::Expr *> launches;
  bool launchesAgain = false; ///< launches are more than copies
};

/// The same for a local variable of the host.
std::string followHost(const PassContext &context, Pointer &pointer, HostLife &life);

/// All that changes together: arrays, and the parameters of functions that are given one of them.
class Plan {
public:
  /// Of the parameters \p indices of \p kernel.
  Plan(const PassContext &context, const clang::FunctionDecl *kernel,
       llvm::ArrayRef<unsigned> indices);

  /// Why the arrays cannot be split; empty if they can.
  const std::string &obstacle() const { return why; }
  /// In the order in which they were met; arrays of the host have a life.
  const std::vector<std::unique_ptr<Pointer>> &pointers() const { return all; }
  const HostLife *lifeOf(const Pointer &pointer) const {
    auto found = lives.find(&pointer);
    return found == lives.end() ? nullptr : &found->second;
  }
  const Pointer *find(const clang::VarDecl *variable) const;

private:
  void addParameter(const clang::FunctionDecl *function, unsigned index);
  void addArray(const clang::VarDecl *variable, const clang::FunctionDecl *host);
  Pointer *add(const clang::VarDecl *variable, const clang::FunctionDecl *function);
  void followCalls(const clang::FunctionDecl *function, unsigned index);
  void spreadUses();
  void stop(const llvm::Twine &reason) {
    if (why.empty())
      why = reason.str();
  }

  const PassContext &context;
  std::string why;
  std::vector<std::unique_ptr<Pointer>> all;
  std::map<const Pointer *, HostLife> lives;
  std::map<const clang::FunctionDecl *, std::set<std::string>> names; ///< given in a function
  std::map<const clang::RecordDecl *, std::unique_ptr<Layout>> layouts;
};

} // namespace kbopt::split

#endif // KBOPT_PASSES_AOS_TO_SOA_SPLITARRAY_H
