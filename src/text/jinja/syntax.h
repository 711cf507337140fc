// The syntax tree of a template.
#pragma once
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "text/jinja/compare.h"
#include "text/jinja/meter.h"
#include "text/jinja/number.h"
#include "text/jinja/value.h"

namespace wick::jinja {

struct Filter;
struct Test;

/// Where a variable is kept: a slot of the function at this depth of nesting.
struct Variable {
  int function = 0;
  int slot = 0;
};

/// How one variable of a scope starts.
struct Load {
  enum class Kind {
    kParameter,  // given by whoever enters the scope
    kResolve,    // from the variables of the render, by name
    kAlias,      // a variable of an outer scope
    kMissing,
  };
  Kind kind;
  int slot;
  std::string name;
  Variable source;
};
using Scope = std::vector<Load>;

struct Expression;
using ExpressionPtr = std::unique_ptr<Expression>;

struct CallArguments {
  std::vector<ExpressionPtr> positional;
  std::vector<std::pair<std::string, ExpressionPtr>> named;
  ExpressionPtr more_positional;  // *args; or null
  ExpressionPtr more_named;       // **kwargs
};

enum class Relation { kEqual, kNotEqual, kLess, kLessEqual, kGreater, kGreaterEqual, kIn, kNotIn };

enum class ExpressionKind {
  kConstant,
  kName,
  kNamespaceAttribute,  // NAME.attribute as the target of an assignment
  kTuple,
  kList,
  kDict,  // children: key, value, key, value ...
  kNegate,
  kPlus,
  kNot,
  kBinary,
  kAnd,
  kOr,
  kConcat,
  kCompare,      // children: the first operand, and one for each relation
  kConditional,  // children: value, condition, otherwise (null without else)
  kFilter,       // children: the input (null for a filter block's)
  kTest,         // children: the input
  kCall,         // children: the callee
  kAttribute,    // children: the object
  kItem,         // children: the object, the key
  kSlice,        // children: the object, start, stop, step (null if not given)
};

struct Expression {
  ExpressionKind kind;
  SourcePosition place;
  int depth = 1;       // of the tree below, this included
  std::string name;    // of a variable, filter, test or attribute
  std::string target;  // kNamespaceAttribute: the attribute
  Value constant;
  BinaryOp op = BinaryOp::kAdd;
  std::vector<Relation> relations;
  std::vector<ExpressionPtr> children;
  CallArguments arguments;
  Variable variable;
  const Filter* filter = nullptr;  // null if unknown, which is an error when it runs
  const Test* test = nullptr;
};

struct Statement;
using Body = std::vector<Statement>;

struct Output {
  std::vector<ExpressionPtr> parts;
};

struct For {
  ExpressionPtr target, iterable, test;  // test: null without "if"
  bool is_recursive = false;
  Body body, otherwise;

  bool has_loop = false;  // the body reads "loop"
  Variable loop;
  Scope body_scope, otherwise_scope, test_scope;
  ExpressionPtr test_target;  // the target again, in the variables of the test
  int test_slots = 0;
  int recursive_slots = 0;
};

struct If {
  /// Tests and bodies of if and elif; the body of else has no test.
  std::vector<std::pair<ExpressionPtr, Body>> branches;
};

struct Set {
  ExpressionPtr target, value;
};

struct SetBlock {
  ExpressionPtr target, filter;  // filter: null without one
  Body body;
  Scope scope;
};

/// A macro, or the body of a call block or of a generation block.
struct MacroDefinition {
  std::string name;  // empty for the others
  std::vector<std::string> parameters;
  std::vector<ExpressionPtr> defaults;  // of the last parameters
  Body body;

  Scope scope;
  int slots = 0;
  std::vector<int> parameter_slots;
  int caller_slot = -1, kwargs_slot = -1, varargs_slot = -1;  // -1: the body does not read it
};

struct Macro {
  MacroDefinition definition;
  Variable variable;
};

struct CallBlock {
  ExpressionPtr call;
  MacroDefinition definition;
};

/// {% generation %}: the text is as if it were not there, its assignments stay inside.
struct Generation {
  MacroDefinition definition;
};

struct FilterBlock {
  ExpressionPtr filter;
  Body body;
  Scope scope;
};

struct With {
  std::vector<std::pair<ExpressionPtr, ExpressionPtr>> assignments;
  Body body;
  Scope scope;
};

struct Break {};
struct Continue {};

struct Statement {
  SourcePosition place;
  std::variant<Output, For, If, Set, SetBlock, Macro, CallBlock, Generation, FilterBlock, With,
               Break, Continue>
      node;
};

struct Template {
  Body body;
  Scope scope;
  int slots = 0;
};

}  // namespace wick::jinja
