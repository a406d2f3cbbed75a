# SPDX-License-Identifier: Apache-2.0

"""Reads the part of C++ that libtorch drivers are written in, into plain tuples.

Owns words and syntax; what names mean is drivers.py's. An expression is one of
    ("int", text) ("float", text) ("string", text) ("name", "torch::randn") ("list", [items])
    ("call", function, [arguments]) ("member", object, name) ("index", object, item)
    ("unary", op, operand) ("binary", op, left, right) ("choice", condition, yes, no) ("assign", op, place, value)
and a statement one of
    ("declare", type, name, kind, [initializers]) with kind "", "=", "(" or "{"
    ("expression", e) ("block", [statements]) ("if", condition, yes, no) ("return", e or None) ("skip", why)
    ("for", [first], condition, step, [body]) ("each", name, list, [body]) ("class", class)
Template arguments are part of a name ("std::get<0>").
"""
import collections
import re


class Unreadable(Exception):
    """The text is not of this part of C++."""


Function = collections.namedtuple("Function", "name parameters initializers body")  # parameters: [(type, name, default or None)]
Class = collections.namedtuple("Class", "name members functions")  # members: declare statements

WORD = re.compile(r'\s+|(?P<number>0x[0-9a-fA-F]+[uUlL]*|(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[fFuUlL]*)|(?P<string>"(?:[^"\\]|\\.)*")'
                  r"|(?P<char>'(?:[^'\\]|\\.)+')|(?P<word>[A-Za-z_]\w*)|(?P<sign>::|->|<<=|>>=|<<|&&|\|\||[-+*/%]=|==|!=|<=|>=|\+\+|--|[-+*/%<>=!&|^~?:;,.(){}\[\]#])")
TYPE_WORDS = {"const", "constexpr", "static", "auto", "unsigned", "signed", "long", "short", "int", "bool", "float", "double", "char", "void", "struct", "typename", "inline"}
RANKS = [("||",), ("&&",), ("==", "!="), ("<", ">", "<=", ">="), ("<<",), ("+", "-"), ("*", "/", "%")]


def without_comments(text):
    return re.sub(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', lambda m: m.group(1) or " ", text, flags=re.S)


def words_of(text):
    text = re.sub(r"^[ \t]*#[^\n]*", "", without_comments(text), flags=re.M)
    words, at = [], 0
    while at < len(text):
        found = WORD.match(text, at)
        if not found:
            raise Unreadable(f"no word of C++ at '{text[at:at + 20]}'")
        at = found.end()
        if found.lastgroup:
            words.append((found.lastgroup, found.group(found.lastgroup)))
    return words


class Parser:
    """One pass over the words; `at` is the next one."""

    def __init__(self, words):
        self.words, self.at = words, 0

    def peek(self, ahead=0):
        at = self.at + ahead
        return self.words[at][1] if at < len(self.words) else ""

    def kind(self, ahead=0):
        at = self.at + ahead
        return self.words[at][0] if at < len(self.words) else ""

    def take(self, expected=None):
        word = self.peek()
        if not word or (expected is not None and word != expected):
            raise Unreadable(f"expected '{expected}' in place of '{word}'")
        self.at += 1
        return word

    def accept(self, word):
        if self.peek() == word:
            self.at += 1
            return True
        return False

    def skip_balanced(self, opening, closing):
        """Past the closing sign that belongs to the opening one at hand."""
        self.take(opening)
        depth = 1
        while depth:
            word = self.take()
            depth += (word == opening) - (word == closing)

    # Names and types

    def template_arguments(self):
        """The text of <...> if what follows are template arguments, else nothing and no move."""
        start, depth, text = self.at, 0, ""
        while True:
            word = self.peek()
            if word not in ("<", ">", "::", ",", "*", "&") and self.kind() not in ("word", "number"):
                break
            text += word + (" " if word in ("const", "unsigned", "long") else "")
            depth += (word == "<") - (word == ">")
            self.at += 1
            if depth == 0:
                return text
        self.at = start
        return ""

    def qualified(self):
        name = self.take() if self.accept("::") is False else "::" + self.take()
        while True:
            if self.peek() == "<":
                arguments = self.template_arguments()
                # a comparison has something else behind its second sign
                if arguments and self.peek() not in ("(", "{", "::", "&", "*", ">", ",", ")", ";") and self.kind() != "word":
                    raise Unreadable("a comparison that looks like template arguments")
                if not arguments:
                    return name
                name += arguments
            elif self.peek() == "::" and self.kind(1) == "word":
                self.take()
                name += "::" + self.take()
            else:
                return name

    def type_or_nothing(self):
        """A type with its signs, if one stands here and a name follows; else nothing and no move."""
        start, text = self.at, []
        while self.peek() in TYPE_WORDS:
            text.append(self.take())
        if not [w for w in text if w not in ("const", "constexpr", "static", "inline", "struct", "typename")]:
            if self.kind() != "word" or self.peek() in ("return", "if", "for", "while", "try", "using", "new", "throw", "delete"):
                self.at = start
                return ""
            try:
                text.append(self.qualified())
            except Unreadable:
                self.at = start
                return ""
        while self.peek() in ("&", "*", "const", "&&"):
            text.append(self.take())
        if self.kind() == "word" and self.peek(1) in ("=", "(", "{", ";", ",", ")", "["):
            return " ".join(text)
        self.at = start
        return ""

    # Expressions

    def expression(self):
        left = self.choice()
        if self.peek() in ("=", "+=", "-=", "*=", "/="):
            op = self.take()
            return ("assign", op, left, self.expression())
        return left

    def choice(self):
        condition = self.binary(0)
        if not self.accept("?"):
            return condition
        yes = self.expression()
        self.take(":")
        return ("choice", condition, yes, self.expression())

    def binary(self, rank):
        if rank == len(RANKS):
            return self.unary()
        left = self.binary(rank + 1)
        while self.peek() in RANKS[rank]:
            op = self.take()
            left = ("binary", op, left, self.binary(rank + 1))
        return left

    def unary(self):
        if self.peek() == "new" and self.kind(1) == "word":
            self.take()
            made = self.postfix()
            return made if made[0] == "call" else ("call", made, [])
        if self.peek() in ("-", "+", "!", "*", "&"):
            return ("unary", self.take(), self.unary())
        return self.postfix()

    def items(self, closing):
        result = []
        while not self.accept(closing):
            result.append(self.expression())
            if not self.accept(","):
                self.take(closing)
                break
        return result

    def primary(self):
        kind, word = self.kind(), self.peek()
        if kind == "number":
            self.take()
            is_float = not word.startswith("0x") and re.search(r"[.eE]|[fF]$", word)
            return ("float", word.rstrip("fFlL")) if is_float else ("int", word.rstrip("uUlL"))
        if kind == "string":
            text = ""
            while self.kind() == "string":
                text += self.take()[1:-1]
            return ("string", text)
        if kind == "char":
            return ("string", self.take()[1:-1])
        if word == "(":
            self.take()
            start = self.at
            if self.kind() == "word" and self.peek(1) == ")" and (self.peek() in TYPE_WORDS or self.peek().endswith("_t")) and self.kind(2) in ("word", "number"):
                self.at += 2  # a cast
                return self.unary()
            self.at = start
            inner = self.expression()
            self.take(")")
            return inner
        if word == "{":
            self.take()
            return ("list", self.items("}"))
        if word == "[":
            raise Unreadable("a lambda")
        if kind == "word" or word == "::":
            return ("name", self.qualified())
        raise Unreadable(f"an expression begins with '{word}'")

    def postfix(self):
        value = self.primary()
        while True:
            if self.accept("("):
                value = ("call", value, self.items(")"))
            elif self.peek() == "{" and value[0] == "name":
                self.take()
                value = ("call", value, [("list", self.items("}"))])
            elif self.accept("["):
                value = ("index", value, self.expression())
                self.take("]")
            elif self.peek() in (".", "->"):
                self.take()
                name = self.take()
                if self.peek() == "<":
                    self.template_arguments()
                value = ("member", value, name)
            elif self.peek() in ("++", "--"):
                raise Unreadable("a counter")
            else:
                return value

    # Statements

    def block(self):
        self.take("{")
        result = []
        while not self.accept("}"):
            result.extend(self.statement())
        return result

    def body(self):
        return self.block() if self.peek() == "{" else self.statement()

    def statement(self):
        """A list, because a declaration may name several variables."""
        word = self.peek()
        if word == "{":
            return [("block", self.block())]
        if self.accept(";"):
            return []
        if word == "if":
            self.take()
            self.take("(")
            condition = self.expression()
            self.take(")")
            yes = self.body()
            return [("if", condition, yes, self.body() if self.accept("else") else [])]
        if word == "return":
            self.take()
            value = None if self.peek() == ";" else self.expression()
            self.take(";")
            return [("return", value)]
        if word == "try":
            self.take()
            result = [("block", self.block())]
            while self.accept("catch"):
                self.skip_balanced("(", ")")
                self.skip_balanced("{", "}")
            return result
        if word in ("for", "while"):
            start = self.at
            try:
                return [self.loop()] if word == "for" else self.skipped_loop()
            except Unreadable:
                self.at = start
                return self.skipped_loop()
        if word in ("break", "continue", "goto"):
            raise Unreadable(f"a '{word}'")
        if word in ("struct", "class") and self.kind(1) == "word" and self.peek(2) in ("{", ":"):
            return [("class", self.definition_of_class())]
        if word in ("using", "typedef", "delete"):
            while self.take() != ";":
                pass
            return []
        declared = self.type_or_nothing()
        if declared:
            return self.declarators(declared)
        value = self.expression()
        self.take(";")
        return [("expression", value)]

    def skipped_loop(self):
        word = self.take()
        self.skip_balanced("(", ")")
        if self.peek() == "{":
            self.skip_balanced("{", "}")
        else:
            self.statement()
        return [("skip", f"a '{word}' loop")]

    def loop(self):
        """for (first; condition; step) or for (type name : list)."""
        self.take("for")
        self.take("(")
        start = self.at
        while self.peek() in TYPE_WORDS or self.peek() in ("&", "&&", "*"):
            self.take()
        if self.at == start or (self.kind() == "word" and self.peek(1) != ":" and self.peek(1) != "="):
            self.qualified()
            while self.peek() in ("&", "&&", "*"):
                self.take()
        if self.kind() == "word" and self.peek(1) == ":":
            name = self.take()
            self.take(":")
            values = self.expression()
            self.take(")")
            return ("each", name, values, self.body())
        self.at = start
        first = self.statement()
        condition = self.expression()
        self.take(";")
        step = self.step()
        self.take(")")
        return ("for", first, condition, step, self.body())

    def step(self):
        """i++, ++i, i += n and the like, as an assignment."""
        sign = self.take() if self.peek() in ("++", "--") else ""
        name = ("name", self.qualified())
        sign = sign or (self.take() if self.peek() in ("++", "--") else "")
        if sign:
            return ("assign", sign[0] + "=", name, ("int", "1"))
        op = self.take()
        if op not in ("=", "+=", "-=", "*=", "/="):
            raise Unreadable(f"a loop steps by '{op}'")
        return ("assign", op, name, self.expression())

    def definition_of_class(self):
        """struct name : base { ... };"""
        self.take()
        name = self.take()
        while self.peek() != "{":
            self.take()
        return self.class_body(name)

    def declarators(self, declared):
        result = []
        while True:
            name = self.take()
            if self.accept("="):
                result.append(("declare", declared, name, "=", [self.expression()]))
            elif self.accept("("):
                result.append(("declare", declared, name, "(", self.items(")")))
            elif self.accept("{"):
                result.append(("declare", declared, name, "{", self.items("}")))
            else:
                result.append(("declare", declared, name, "", []))
            if self.accept(","):
                while self.peek() in ("*", "&"):
                    self.take()
                continue
            self.take(";")
            return result

    # Definitions

    def parameters(self):
        self.take("(")
        result = []
        while not self.accept(")"):
            if self.peek() == "void" and self.peek(1) == ")":
                self.take()
                continue
            declared = self.type_or_nothing()
            if declared:
                name = self.take()
                while self.peek() == "[":
                    self.skip_balanced("[", "]")
            else:
                declared, name = self.type_without_name(), f"unnamed {len(result)}"
            result.append((declared, name, self.expression() if self.accept("=") else None))
            self.accept(",")
        return result

    def type_without_name(self):
        """The type of a parameter that has no name."""
        start, text = self.at, []
        while self.peek() in TYPE_WORDS or self.peek() in ("&", "*", "&&") or (self.kind() == "word" and not text):
            text.append(self.take() if self.peek() in TYPE_WORDS or self.kind() != "word" else self.qualified())
        if not text or self.peek() not in (",", ")", "="):
            self.at = start
            raise Unreadable(f"a parameter at '{self.peek()}'")
        return " ".join(text)

    def function(self, name):
        """After its name."""
        parameters, initializers = self.parameters(), []
        if self.accept(":"):
            while self.peek() != "{":
                field = self.qualified()
                closing = {"(": ")", "{": "}"}[self.take()]
                initializers.append((field, self.items(closing)))
                self.accept(",")
        if self.accept(";"):
            return Function(name, parameters, [], None)
        return Function(name, parameters, initializers, self.block())

    def class_body(self, name):
        members, functions = [], []
        self.take("{")
        while not self.accept("}"):
            if self.peek() in ("public", "private", "protected"):
                self.take()
                self.take(":")
                continue
            if self.peek() == name and self.peek(1) == "(":
                self.take()
                functions.append(self.function(name))
                continue
            declared = self.type_or_nothing()
            if not declared:
                raise Unreadable(f"a member at '{self.peek()}'")
            if self.peek(1) == "(":
                functions.append(self.function(self.take()))
            else:
                members.extend(self.declarators(declared))
        self.accept(";")
        return Class(name, members, functions)


def parse(text):
    """All that stands at the top of a file: functions by name (the last definition or declaration), classes by name, and other declarations."""
    parser, functions, classes, globals_ = Parser(words_of(text)), {}, {}, []
    while parser.peek():
        if parser.accept(";"):
            continue
        if parser.peek() in ("using", "typedef"):
            parser.statement()
        elif parser.peek() in ("struct", "class"):
            definition = parser.definition_of_class()
            classes[definition.name] = definition
        elif parser.peek() == "TORCH_MODULE":
            parser.take()
            parser.take("(")
            name = parser.take()
            parser.take(")")
            classes[name] = classes[name + "Impl"]
        elif parser.peek() == "extern" and parser.kind(1) == "string":
            parser.at += 2
            if parser.peek() == "{":
                parser.take()
        elif parser.peek() == "}":
            parser.take()
        else:
            declared = parser.type_or_nothing()
            if not declared:
                raise Unreadable(f"a definition at '{parser.peek()}'")
            if parser.peek(1) == "(":
                function = parser.function(parser.take())
                if function.body is not None or function.name not in functions:
                    functions[function.name] = function
            else:
                globals_.extend(parser.declarators(declared))
    return functions, classes, globals_
