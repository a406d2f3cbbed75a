//===- ThreadReader.h - From the AST to a thread program --------*- C++ -*-===//
// SPDX-License-Identifier: Apache-2.0
//
// Owns the reading of one kernel's AST. Private to the library.
//
//===----------------------------------------------------------------------===//
#ifndef KBOPT_LIB_RAISE_THREADREADER_H
#define KBOPT_LIB_RAISE_THREADREADER_H

#include "LastBlock.h"
#include "LoopForms.h"
#include "ThreadProgram.h"
#include "clang/AST/ASTContext.h"
#include "clang/AST/ExprCXX.h"
#include "clang/AST/StmtCXX.h"

namespace kbopt::raise {

/// For which launches a kernel is read. Then and Else: for those where a branch that goes the same
/// way in the whole launch takes this side. Multiples: for those where sizes are multiples of the
/// constants that the kernel divides them by, so that nothing is left for loops over the rest. The
/// nest requires what the reading rests on.
enum class LaunchSide { Both, Then, Else, Multiples };

/// What of a kernel is read.
struct Reading {
  LaunchSide side = LaunchSide::Both;
  /// Of a kernel whose last block ends the work: one of its bodies, with isLast that of the last
  /// block.
  const LastBlock *split = nullptr;
  bool isLast = false;
};

/// What the thread does that executes \p kernel, or a program with a `reason`. In a kernel whose
/// threads work together, `c ? x[i] : 0` is read under `c` only with \p liftsChoices.
ThreadProgram readThread(const clang::FunctionDecl *kernel, bool liftsChoices = false,
                         const Reading &reading = {});

/// An integer expression. `poly` equals the value modulo 2^bits; with `isExact` it is the value.
struct Integer {
  Poly poly;
  unsigned bits = 32;
  bool isSigned = true, isExact = true;
};

struct Pointer {
  Base base;
  Poly offset; ///< in elements of `element`
  clang::QualType element;
  /// How many elements of `element` one element of the pointee `whole` is, where that is a vector.
  unsigned parts = 1;
  clang::QualType whole = {};
};

/// A vector type of CUDA, or a struct of the user's that is no more than its fields.
struct VectorShape {
  clang::QualType scalar; ///< null if the fields may have several types
  llvm::SmallVector<std::string, 4> fields;
  llvm::SmallVector<clang::QualType, 4> types;
  std::string maker; ///< the function that makes one of scalars, or the name of the struct
};

/// That each iteration of a loop adds \p step (by default one) to a variable, or subtracts it.
struct LoopMove {
  const clang::VarDecl *variable = nullptr;
  const clang::Expr *step = nullptr;
  bool isDown = false;
};
using LoopMoves = std::map<const clang::ForStmt *, std::vector<LoopMove>>;
/// Branches that give a pointer its value; what follows them is read once for each side.
using Choices = std::set<const clang::IfStmt *>;

/// What a variable stands for at a place in the text.
struct Value {
  enum Kind { Number, Address, Scalar, Vector } kind = Scalar;
  Integer number;
  Pointer address;
  std::string name;                    ///< of Scalar; empty: as written
  std::vector<std::string> parts = {}; ///< of Vector: the scalars that hold it
};

/// Reads one kernel in the order of its text. Every variable has one value at a time: variables
/// that are changed under a condition or in a loop are scalars, others are followed.
class ThreadReader {
public:
  ThreadReader(const clang::FunctionDecl *kernel, ThreadProgram &program, bool liftsChoices,
               const Reading &reading);
  void read();

private:
  using Body = std::vector<Statement>;
  using Statements = llvm::SmallVector<const clang::Stmt *>;

  //===-- Statements (ReadStatements.cpp, ReadVariables.cpp and others) ---===//
  void readParameters();
  /// Requires that the last block is the last one, and that the count is 0 after it.
  void requireCount(const LastBlock &split);
  bool requireOneCounts(const LastBlock &split);
  void readSequence(llvm::ArrayRef<const clang::Stmt *> statements, Body &out);
  void readStatement(const clang::Stmt *statement, Body &out);
  /// `p = c ? x : y;`, or its declaration, as a branch that gives the pointer its value; null if it
  /// is none.
  const clang::IfStmt *choiceOf(const clang::Stmt *statement);
  void readIf(const clang::IfStmt *statement, llvm::ArrayRef<const clang::Stmt *> rest, Body &out);
  /// The side of \p branch that the kernel is read for, if the branch goes the same way in the
  /// whole launch.
  const clang::Stmt *launchSideOf(const clang::IfStmt *branch);
  /// The body of \p condition, an If whose constraints have been read.
  void readGuarded(llvm::ArrayRef<const clang::Stmt *> statements, Statement &condition);
  void readVariable(const clang::VarDecl *variable, Body &out);
  void readPointer(const clang::VarDecl *variable);
  void readReference(const clang::VarDecl *variable);
  void readShared(const clang::VarDecl *variable);
  void declareScalar(const clang::VarDecl *variable, const clang::Expr *init, Body &out);
  void readExpression(const clang::Expr *expr, Body &out);
  void readAssignment(const clang::Expr *left, const clang::Expr *right, llvm::StringRef opcode,
                      Body &out);
  void readNumberAssignment(const clang::VarDecl *variable, const clang::Expr *left,
                            const clang::Expr *right, llvm::StringRef opcode, Body &out);
  void declareUpdated(const clang::VarDecl *variable, const clang::Expr *left,
                      const clang::Expr *right, llvm::StringRef opcode, Body &out);
  bool readAssertion(const clang::ConditionalOperator *choice, Body &out);
  bool readCall(const clang::CallExpr *call, Body &out);
  bool readAtomic(const clang::CallExpr *call, llvm::StringRef name, Body &out);
  bool readSineCosine(const clang::CallExpr *call, llvm::StringRef name, Body &out);
  void refuse(const std::string &why) { program.refuse(why); }
  bool failed() const { return !program.reason.empty(); }

  //===-- Loops (ReadLoops.cpp) -------------------------------------------===//
  struct Test {
    const clang::BinaryOperator *comparison;
    bool negates;
  };
  /// What else ends a loop: conditions that stay false once they are, and values above its
  /// variable.
  struct Guards {
    llvm::SmallVector<Test> tests;
    std::vector<Poly> ends;
    /// Both as constraints that stay false once they are.
    llvm::SmallVector<Constraint> holds;
    /// Conditions of which nothing is known; where one does not hold, the loop ends.
    llvm::SmallVector<const clang::Expr *> exits;
  };
  void readFor(const clang::ForStmt *loop, Body &out);
  /// A loop around what is read.
  struct Frame {
    VarId variable = 0;
    Statement::Progress progress = Statement::Add;
    const Body *body = nullptr; ///< null where nothing may leave the loop
    size_t known = 0;           ///< the variables that there were before it
    bool mayReturn = false;     ///< nothing is done after the loop
    bool isLeft = false;
    std::string runs = {}; ///< the flag that a break clears; empty so far
  };
  /// A variable that moves on in each iteration: its value before the loop, and how far.
  struct Moving {
    const clang::VarDecl *variable;
    Value start;
    Poly by;
  };
  /// Lets the variables that move on in \p loop, which counts as \p result says, depend on its
  /// counter. False if one moves in a way that is not understood.
  bool startMoves(const clang::ForStmt *loop, const clang::VarDecl *counted, Statement &result,
                  bool isPlain, std::vector<Moving> &moving);
  /// Whether each has moved as far as `moving` says; gives them their values after the loop.
  bool endMoves(const clang::ForStmt *loop, const Statement &result, bool isPlain,
                std::vector<Moving> &moving);
  static Poly &placeOf(Value &value) {
    return value.kind == Value::Address ? value.address.offset : value.number.poly;
  }
  bool readHeader(const clang::ForStmt *loop, const clang::VarDecl *variable, Statement &result,
                  Guards &guards);
  /// The value that `i + tid < n` compares \p variable, a counter, with; turns \p opcode where the
  /// variable then stands on the left. Nothing where the variable has a factor.
  std::optional<Integer> comparedWith(const clang::BinaryOperator *test,
                                      const clang::VarDecl *variable, const Statement &loop,
                                      clang::BinaryOperatorKind &opcode);
  /// Reads the tests of \p guards: what stays false is in `holds`, other conditions in `exits`, and
  /// those that are the same for all iterations of \p loop are conditions of \p around.
  void sortGuards(const clang::ForStmt *loop, const clang::VarDecl *variable,
                  const Statement &result, Guards &guards, Statement &around);

  //===-- Loops that data ends (ReadExits.cpp) -----------------------------===//
  void readUncounted(const clang::Stmt *loop, Body &out);
  /// The same for \p loop, which counts \p variable in a way that is not understood: the variable
  /// becomes a scalar. Refuses with \p reason where that does not do.
  void readWithScalar(const clang::ForStmt *loop, const clang::VarDecl *variable, Body &out,
                      const std::string &reason);
  /// `break`, and `return` in a loop.
  void leaveLoop(Body &out);
  void leaveFunction(const clang::ReturnStmt *statement, Body &out);
  /// What follows \p statement, which may have returned from within a loop. False if it cannot.
  bool readIfStays(const clang::Stmt *statement, llvm::ArrayRef<const clang::Stmt *> rest,
                   Body &out);
  /// Lets \p loop, which was read from \p written, end when a flag is cleared; declares the flag.
  void endByData(Statement &loop, const Frame &frame, const clang::Stmt *written, Body &out);

  //===-- Branches (ReadBranches.cpp, ReadSwitch.cpp) ---------------------===//
  /// `if (c) break;` in the body of a loop, or `if (c) return;` where nothing follows the loop:
  /// what stands after it is done where c does not hold, if c stays true once it is. False where \p
  /// branch is something else.
  bool readLeave(const clang::IfStmt *branch, llvm::ArrayRef<const clang::Stmt *> rest, Body &out);
  bool staysFalse(const Constraint &constraint, const Frame &loop) const;
  /// \p choice as the declaration of a variable and a chain of if statements; empty where it is not
  /// understood. The same switch gives the same nodes.
  llvm::SmallVector<const clang::Stmt *> asBranches(const clang::SwitchStmt *choice);

  struct ViewPart;
  /// What is known of an object that no memory holds, as `a[i]` of an accessor: its fields.
  using View = std::map<const clang::FieldDecl *, ViewPart>;

  //===-- Functions (ReadCalls.cpp) ---------------------------------------===//
  /// Reads the body of the function in the call's place; its result as text, empty for void.
  /// Nothing where that is not possible.
  std::optional<Text> inlineCall(const clang::CallExpr *call, Body &out);
  bool bindParameter(const clang::ParmVarDecl *parameter, const clang::Expr *argument, Body &out);
  /// What \p call's method is called on, an expression or a computed object, and its arguments,
  /// into
  /// \p arguments. False if the method cannot be read.
  bool bindObject(const clang::CallExpr *call, const clang::CXXMethodDecl *method,
                  llvm::SmallVectorImpl<const clang::Expr *> &arguments, const clang::Expr *&called,
                  std::optional<View> &seen);
  /// The object that \p member is a field of; in a method, that is what the method was called on.
  const clang::Expr *objectOf(const clang::MemberExpr *member) const;
  bool isArrow(const clang::MemberExpr *member) const;
  /// The element that \p call returns a reference or a pointer to, as `m(i, j)` of a matrix does.
  std::optional<Pointer> placeOfCall(const clang::CallExpr *call);
  void readResult(const clang::ReturnStmt *statement, Body &out);
  /// Whether what stands after a part of \p statement is read for each side of a branch.
  bool readsTwice(const clang::Stmt *statement);
  /// The scalar or the split vector of the thread that \p lvalue names; nothing if it is something
  /// else.
  std::optional<Value> placeAt(const clang::Expr *lvalue);
  /// What \p pointer, `&x` or a parameter that is given one, points to, of the thread's variables.
  std::optional<Value> pointeeOf(const clang::Expr *pointer);
  /// `cub::BlockReduce<T, n>(storage).Sum(x)` as a collective.
  std::optional<Operand> blockReduction(const clang::CallExpr *call, Body &out);
  /// The function object that threads combine values with, as a library names it; empty if it does
  /// something else.
  std::string functorText(const clang::Expr *functor) const;
  /// What a member of a cooperative group says of the thread.
  std::optional<Integer> evaluateGroup(const clang::CallExpr *call);

  //===-- Reductions (ReadCombine.cpp) ------------------------------------===//
  /// `sum += x` and its relatives: a Combine instead of an Assign.
  bool readCombine(const clang::Expr *left, const clang::Expr *right, llvm::StringRef opcode,
                   Body &out);
  /// `s = s + a - b`, in the order of its operations, and `s = fmaf(a, b, s)`, which a compiler
  /// makes of `s += a * b`.
  bool readChain(const std::string &name, const clang::VarDecl *variable, const clang::Expr *value,
                 Body &out);
  bool readFused(const std::string &name, const clang::VarDecl *variable, const clang::Expr *value,
                 Body &out);
  /// `if (x > top) top = x;`.
  bool readConditionalMaximum(const clang::IfStmt *statement, Body &out);
  bool combineBy(const std::string &name, clang::QualType type, llvm::StringRef reduction,
                 llvm::StringRef combine, const clang::Expr *term, Body &out, bool negates = false);
  bool combineText(const std::string &name, clang::QualType type, llvm::StringRef reduction,
                   llvm::StringRef combine, Text term, Body &out);

  //===-- Conditions (ReadConditions.cpp) ---------------------------------===//
  /// Appends \p expr, or its negation, to the conjunction that \p condition is.
  void readCondition(const clang::Expr *expr, bool negates, Statement &condition, Body &out);
  bool readComparison(const clang::BinaryOperator *comparison, bool negates, Statement &condition);
  /// `if (n % 4)`: an integer that is not 0, or, if \p negates, one that is.
  bool readTruth(const clang::Expr *expr, bool negates, Statement &condition);
  /// Lets conditions that name \p variable, a truth value, be read as its initial value, where that
  /// is computed from integers and unchanged variables.
  void followCondition(const clang::VarDecl *variable);
  /// The condition that \p expr names; null if it names none, or what it was computed from has
  /// changed.
  const clang::Expr *followedCondition(const clang::Expr *expr) const;
  /// Whether \p condition still means the same after \p body.
  bool isStable(const Statement &condition, const Body &body) const;

  //===-- Equations (ReadDivisions.cpp) -------------------------------------===//
  /// Appends to \p condition that \p divisor leaves no rest of \p dividend, in which the variable
  /// of a loop is added to something that is not negative, or subtracted from it. False for others.
  bool readMultiple(const Poly &dividend, const Poly &divisor, Statement &condition);
  /// The same for `t % n`, or `t & 3`, that is to be 0.
  bool readRest(const clang::Expr *expr, Statement &condition);
  /// The same where \p difference, which is to be 0, is `t / n * n - t`.
  bool readQuotient(const Poly &difference, Statement &condition);
  /// Whether a condition around what is read says that \p divisor leaves no rest of \p dividend.
  bool isKnownMultiple(const Poly &dividend, const Poly &divisor) const;
  /// Remembers that \p variable, an integer that is no polynomial, is a quotient.
  void noteQuotient(const clang::VarDecl *variable);
  /// Writes such quotients as polynomials where a condition says that there is no rest.
  void settleQuotients(Body &body);

  //===-- Assignments inside expressions (ReadNested.cpp) ------------------===//
  /// Reads what \p expr changes before its value is known, and notes the values of these parts. Of
  /// a statement, what it does itself is left. Nothing that a condition decides is read.
  void liftNested(const clang::Expr *expr, Body &out, bool isStatement = false);
  void readNested(const clang::Stmt *node, Body &out, bool isStatement);
  void keepNested(const clang::Expr *expr, const clang::Expr *changed, Body &out);
  /// The value of a part that was read before; null for others.
  const Value *nestedValue(const clang::Expr *expr) const;

  //===-- Integers (ReadIntegers.cpp) -------------------------------------===//
  std::optional<Integer> evaluate(const clang::Expr *expr);
  std::optional<Integer> evaluateBinary(const clang::BinaryOperator *binary);
  std::optional<Integer> arithmetic(clang::BinaryOperatorKind opcode, Integer left, Integer right,
                                    clang::QualType type, const clang::Expr *shown);
  std::optional<Integer> evaluateCall(const clang::CallExpr *call);
  /// Whether \p divisor, a constant, is taken to divide \p size, a product of parameters; the nest
  /// requires it then.
  bool isMultiple(const Poly &size, const Poly &divisor);
  /// n / 4 * 4 is n, where n is taken to be a multiple.
  Poly joinMultiples(const Poly &poly);
  /// An integer that is loaded to form an address: a Let before the statement, if that is allowed
  /// here.
  std::optional<Integer> evaluateLoad(const clang::Expr *expr);
  /// The value of an index or loop bound, of which parts may be loaded.
  std::optional<Integer> evaluateIndex(const clang::Expr *expr);
  VarId addVarying(const std::string &name, clang::QualType type);
  std::optional<Integer> convert(Integer value, clang::QualType type);
  Integer ofType(Poly poly, clang::QualType type, bool isExact) const;
  /// Makes \p value exact, by an obligation where it is not provable.
  bool demand(Integer &value, const clang::Expr *shown);
  /// idx % n + idx / n * n is idx.
  Poly joinDigits(const Poly &poly);
  /// idx - idx % n is idx / n * n, where that has fewer terms.
  Poly expandRemainders(const Poly &poly);
  /// Whether the conditions around what is read show that \p poly >= 0; may require that sizes are
  /// not negative.
  bool isGuarded(Poly poly);
  /// Whether \p constraint holds nowhere.
  bool isImpossible(const Constraint &constraint);
  /// Whether \p poly >= 0, or can be required to be.
  bool isNonNegative(const Poly &poly, bool mayRequire);
  bool isPositive(const Poly &poly);
  void require(const Poly &poly);
  /// idx - idx / n * n is idx % n.
  Poly simplify(const Poly &poly);

  //===-- Memory (ReadMemory.cpp) -----------------------------------------===//
  std::optional<Pointer> evaluatePointer(const clang::Expr *expr);
  /// A pointer in a struct that the kernel is given by value: `p.data`, `p.rows[2]`.
  std::optional<Pointer> fieldPointer(const clang::Expr *lvalue);
  /// The array or object that an lvalue of array type names.
  std::optional<Pointer> evaluateArray(const clang::Expr *expr);
  std::optional<Operand> evaluateElement(const clang::Expr *lvalue);
  Operand elementAt(const Pointer &pointer) const;

  //===-- Fields of parameters (ReadPlaces.cpp) -----------------------------===//
  /// A field, or an element with a constant index, of a struct parameter.
  struct FieldOfParameter {
    const clang::ParmVarDecl *parameter = nullptr;
    std::string text;
    int64_t offset = 0; ///< in bytes
    /// Of an array that is not public: the method that gives an element of it.
    std::string element = {};
    void addElement(int64_t number, int64_t bytes);
  };
  /// Adds \p field of an object of \p type to \p place as its users may write it. False where it is
  /// not public and no method gives it.
  static bool nameField(const clang::FieldDecl *field, clang::QualType type,
                        FieldOfParameter &place);
  /// The integer at \p place, of \p type, as a symbol.
  Integer symbolOf(const FieldOfParameter &place, clang::QualType type);
  bool readPlace(const clang::Expr *lvalue, FieldOfParameter &place);
  /// An integer of a struct that the kernel is given by value: `p.size`, `p.sizes[1]`.
  std::optional<Integer> evaluateField(const clang::Expr *lvalue);

  //===-- Objects that are computed (ReadViews.cpp) -----------------------===//
  /// Integers in an array of a struct that the kernel is given by value, from number `first` on.
  struct Table {
    FieldOfParameter array;
    clang::QualType type;
    int64_t first = 0;
  };
  std::optional<View> viewOf(const clang::Expr *expr);
  std::optional<View> viewOfCall(const clang::CallExpr *call);
  std::optional<View> viewOfConstructor(const clang::CXXConstructExpr *expr);
  /// The value of \p expr as a variable or field of \p type has it.
  std::optional<ViewPart> partOf(const clang::Expr *expr, clang::QualType type);
  void bindPart(const clang::VarDecl *variable, ViewPart part);
  /// Evaluates \p arguments as \p function's parameters have them.
  bool bindParts(const clang::FunctionDecl *function,
                 llvm::ArrayRef<const clang::Expr *> arguments);
  std::optional<Table> tableOf(const clang::Expr *pointer);
  /// What is known of the field that \p member names; null if it is none of a view.
  const ViewPart *fieldOfView(const clang::MemberExpr *member);
  /// An integer in a view, or in a table.
  std::optional<Integer> evaluateInView(const clang::Expr *expr);

  //===-- Fields (ReadFields.cpp) -----------------------------------------===//
  /// Lets parameters that point to structs of which fields are stored point to the numbers in them,
  /// where these have one type.
  void findFields();
  /// The same for a shared array of type \p type.
  bool splitShared(Pointer &pointer, clang::QualType type, SharedArray &shared);
  /// Gives each field of the structs of such arrays a shared array of its own, where no element is
  /// sometimes one field and sometimes another.
  void splitSharedParts();
  /// Refuses memory that is stored to as elements of one size and used as elements of another, or
  /// of another type where it is cast.
  void checkFields();
  /// Lets \p pointer, to numbers of which \p type consists, point to a \p type.
  void setPointee(Pointer &pointer, clang::QualType type) const;
  /// Where the field lies, if it is one of a struct in memory that findFields has split.
  std::optional<Pointer> fieldPlace(const clang::MemberExpr *member);
  /// Whether \p lvalue is an array, a field or an element in a struct that nothing changes: a
  /// parameter that the kernel is given by value, or a constant.
  bool isFixedPlace(const clang::Expr *lvalue) const;
  /// The place of what \p lvalue, an element, `*p`, a reference or a field of such, names in
  /// memory.
  std::optional<Pointer> placeInMemory(const clang::Expr *lvalue);

  //===-- Vectors (ReadVectors.cpp) ---------------------------------------===//
  using Parts = llvm::SmallVector<Text, 4>;
  std::optional<VectorShape> vectorShape(clang::QualType type) const;
  /// \p pointer as one to \p to, if that is its element or a vector of such.
  std::optional<Pointer> castPointer(Pointer pointer, clang::QualType to) const;
  /// \p pointer to the bytes of `extern __shared__ char x[]` as one to elements of type \p to,
  /// which all of it then has.
  std::optional<Pointer> castShared(Pointer pointer, clang::QualType to);
  /// \p pointer to memory that the kernel is given as one to elements of another size: of type \p
  /// to, or of the numbers that \p to, a vector, consists of. Nothing where its offset is no whole
  /// number of these.
  std::optional<Pointer> castGiven(Pointer pointer, clang::QualType to);
  /// How many elements of \p size bytes are \p bytes; requires of parameters, such as the pitch of
  /// a matrix, that they are whole numbers of elements.
  std::optional<Poly> wholeElements(const Poly &bytes, const Poly &size);
  /// Refuses shared memory that is used as bytes, too, where it was cast.
  void checkCastShared();
  /// The place of a vector that lies in an array of scalars.
  std::optional<Pointer> evaluateVector(const clang::Expr *lvalue);
  Operand partAt(const Pointer &pointer, unsigned part) const;
  std::optional<Parts> splitVector(const clang::Expr *expr, Body &out);
  std::optional<Parts> splitCall(const clang::CallExpr *call, const VectorShape &shape, Body &out);
  std::optional<Parts> fixedParts(const VectorShape &shape, const clang::Expr *right, Body &out);
  Text joinVector(const VectorShape &shape, llvm::ArrayRef<Text> parts) const;
  /// `v.x` where v is split.
  std::optional<Text> partText(const clang::MemberExpr *member, Body &out);
  /// The scalar that `v.x`, `p->x` or `*p` stands for; null if it is none of the thread's.
  const std::string *partName(const clang::Expr *lvalue);
  /// What \p expr, `v`, `*p` or `p->` without its arrow, has as its value; null if it is no
  /// variable of the thread.
  const Value *valueAt(const clang::Expr *expr, bool isPointer = false) const;
  bool declareVector(const clang::VarDecl *variable, const clang::Expr *init, Body &out);
  bool storeVector(const Pointer &pointer, const clang::Expr *right, Body &out);
  bool assignVector(const clang::Expr *left, const clang::Expr *right, Body &out);
  bool assignPart(const clang::Expr *left, const clang::Expr *right, llvm::StringRef opcode,
                  Body &out);

  //===-- Text (ReadText.cpp) ---------------------------------------------===//
  friend class TextBuilder;
  Text textOf(const clang::Expr *expr, Body &out);
  /// Whether \p expr names a variable that another kernel would not see under that name.
  bool mentionsFollowed(const clang::Expr *expr) const;
  bool isGivenValue(const Value &value) const;
  bool isGridObject(const clang::Expr *expr) const;
  std::string typeText(clang::QualType type) const;
  /// Whether types and constants in \p expr may have names that another kernel does not see: those
  /// of the function that is read in a call's place, or an alias that a function declares.
  bool isWrittenElsewhere(const clang::Expr *expr) const;
  /// A function or variable of a template, with the values of its arguments, where these have names
  /// that another kernel does not see.
  std::optional<std::string> functionText(const clang::DeclRefExpr *reference) const;
  std::string sourceText(const clang::Stmt *statement) const;
  bool isPureFunction(const clang::FunctionDecl *function);
  std::string uniqueName(llvm::StringRef wish) { return program.uniqueName(wish); }

  //===-- Arrays (ReadArrays.cpp) -----------------------------------------===//
  /// An array of the thread: each element is a scalar, or the array is one variable `whole`.
  struct LocalArray {
    std::vector<std::string> names;
    clang::QualType element;
    std::string whole = {};
  };
  /// Declares \p variable, of \p count elements, as one variable, if it has more than \p
  /// mostScalars or an index that is not known. False if it is neither, or that is not possible.
  bool declareWhole(const clang::VarDecl *variable, clang::QualType element, uint64_t count,
                    uint64_t mostScalars, Body &out);
  /// `x[at]` for \p lvalue, an element of such an array.
  std::optional<std::string> wholeElement(const clang::Expr *lvalue, Body &out);
  bool assignWhole(const clang::Expr *left, const clang::Expr *right, llvm::StringRef opcode,
                   Body &out);
  void declareArray(const clang::VarDecl *variable, Body &out);
  /// The array of the thread that \p lvalue is an element of; null if it is something else.
  const LocalArray *arrayOf(const clang::Expr *lvalue) const;
  /// The scalar that \p lvalue, an element of an array of the thread, stands for; null if its index
  /// is not known.
  const std::string *elementName(const clang::Expr *lvalue);
  /// Reads a loop of few iterations that index an array of the thread once for each. False if it is
  /// none.
  bool unroll(const clang::ForStmt *loop, const clang::VarDecl *variable, const Statement &header,
              Body &out);
  bool indexesArray(const clang::Stmt *body, const clang::VarDecl *variable) const;

  const clang::FunctionDecl *kernel;
  const clang::ASTContext &ast;
  ThreadProgram &program;
  Space &space;
  std::map<const clang::VarDecl *, Value> values;
  std::map<const clang::VarDecl *, Value>
      pointees; ///< what parameters of functions point to, of the thread's variables
  std::map<const clang::Expr *, Value> nested; ///< of the statement that is read
  bool isLifting = false;
  const clang::Expr *wholeExpression = nullptr; ///< whose parts are read before it
  /// Truth values, with the integers that they were computed from.
  std::map<const clang::VarDecl *, std::map<const clang::VarDecl *, Poly>> conditions;
  std::set<const clang::VarDecl *> untracked;
  LoopForms forms;
  std::vector<Frame> frames;
  std::string stays;             ///< the flag that a return in a loop clears; empty so far
  bool somethingFollows = false; ///< in the kernel, after the statement that is read
  LoopMoves moves;
  Choices choices;
  std::map<const clang::SwitchStmt *, llvm::SmallVector<const clang::Stmt *>> switches;
  std::map<const clang::FunctionDecl *, bool> pureFunctions;
  std::map<const clang::VarDecl *, LocalArray> arrays;
  bool hasFields = false; ///< a parameter points to structs whose fields are elements
  std::map<std::string, std::vector<std::string>> sharedParts; ///< of structs, by array
  std::map<std::string, std::string> castTypes; ///< of shared memory that was declared as bytes
  std::set<std::string>
      castGivens;          ///< memory that is used as elements of another size than it is declared
  bool cooperates = false; ///< threads may exchange values
  bool liftsChoices;       ///< `c ? x[i] : 0` becomes a condition around the load
  const Reading reading;
  const LaunchSide side;
  std::set<VarId> wholeQuotients; ///< n / 4, where n is taken to be a multiple of 4
  /// Integers that are computed as they are written, by what they divide, and by what.
  std::map<VarId, std::pair<Poly, Poly>> quotients;
  unsigned loopDepth = 0, inlineDepth = 0, copies = 0, unrolled = 0;
  /// The result of the function that is read in a call's place.
  struct Inlined {
    bool isOnlyReturn = false;
    std::string name, type;
    Text result;
  };
  Inlined *inlined = nullptr;
  const clang::Expr *object = nullptr; ///< of the method that is read in a call's place
  const View *view = nullptr;          ///< the same, where the object is a computed one
  std::map<const clang::VarDecl *, View> views;
  std::map<const clang::VarDecl *, Table> tables;
  llvm::SmallVector<Constraint> given; ///< holds wherever what is read is reached
  /// Where statements are put before the one that is read; null where that one's condition is not
  /// known.
  Body *before = nullptr;
  bool mayLoad = false; ///< what is read is an index
  std::vector<Base> loadedForIndex;
  std::map<std::tuple<Body *, std::string, std::string>, VarId>
      loadedIndices; ///< of this statement
};

/// The limits of \p value's type; those of 64 bits unsigned are above what polynomials know.
std::pair<int64_t, int64_t> limits(const Integer &value);
/// Whether \p body, or a function that it calls, declares shared memory or has threads exchange
/// values.
bool mayCooperate(const clang::Stmt *body);
/// Whether \p type is what a block-wide function of CUB needs for itself.
bool isLibraryStorage(clang::QualType type);
/// Whether \p type is a group of threads of cooperative_groups.
bool isThreadGroup(clang::QualType type);
/// The number of threads of a tile as text; empty for other groups.
std::string groupSizeText(clang::QualType type);
/// Adds the variables that \p body changes deeper than it declares them, or whose address it takes.
/// Those that only move on once in each iteration of a loop are in \p moves instead: pointers, with
/// \p movesIntegers also integers. The branches that set pointers are in \p choices; these
/// pointers, and integers that no other branch sets, are followed.
void findUntrackedVariables(const clang::Stmt *body, const clang::ASTContext &ast,
                            std::set<const clang::VarDecl *> &untracked, LoopForms &forms,
                            LoopMoves &moves, Choices &choices, bool movesIntegers);
/// Whether \p statement may leave the function, end the loop around it or go on with the next
/// iteration of that.
bool containsExit(const clang::Stmt *statement);
/// Whether \p body may end the loop around it by a break, or return from the function; and whether
/// it has a loop that does the latter.
bool hasBreak(const clang::Stmt *body);
bool hasReturn(const clang::Stmt *body);
bool hasReturnInLoop(const clang::Stmt *body);
/// The declaration of the flag \p name, which is true until something is left.
Statement flagOf(const std::string &name);
/// Whether \p statement changes \p variable.
bool changesVariable(const clang::Stmt *statement, const clang::VarDecl *variable);
/// The side of \p branch that is always taken, null for an absent else; nothing where that depends
/// on the run.
std::optional<const clang::Stmt *> constantSide(const clang::IfStmt *branch,
                                                const clang::ASTContext &ast);
/// How far the increment of a loop moves \p variable, and how. Without a step: by one.
bool readIncrement(const clang::Expr *increment, const clang::VarDecl *variable,
                   Statement::Progress &progress, const clang::Expr *&step);
struct ThreadReader::ViewPart {
  std::optional<Value> value; ///< a number, or a pointer to memory
  std::optional<Table> table;
  std::optional<View> view;
};

/// Whether \p statement names the object of the method that it stands in.
bool mentionsThis(const clang::Stmt *statement);
/// The increments of a loop's header, one for each variable.
void splitIncrement(const clang::Expr *increment,
                    llvm::SmallVectorImpl<const clang::Expr *> &parts);
/// The variable that the header of \p loop counts; null if there is none.
const clang::VarDecl *countedVariable(const clang::ForStmt *loop);

/// `threadIdx.x` and its relatives as a variable of analysis::FixedVar; none if it is something
/// else.
std::optional<VarId> gridVariable(const clang::Expr *expr);
/// Without parentheses, implicit nodes and casts that the compiler added.
const clang::Expr *strip(const clang::Expr *expr);
/// The variable that \p expr names, stripped; null if it is anything else.
const clang::VarDecl *variableOf(const clang::Expr *expr);
/// \p text with every hole's number \p by higher.
std::string shiftHoles(llvm::StringRef text, unsigned by);
/// The expression of `return x;` if that is all that \p function does.
const clang::Expr *onlyReturn(const clang::FunctionDecl *function);
/// The variable that \p lvalue, `x[i][j]`, is an element of; null for anything else.
const clang::VarDecl *rootOf(const clang::Expr *lvalue);
/// The function's name without qualification; empty for operators and unknown callees.
llvm::StringRef calleeName(const clang::CallExpr *call);

} // namespace kbopt::raise

#endif // KBOPT_LIB_RAISE_THREADREADER_H
