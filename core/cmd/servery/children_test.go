package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
	"testing"
)

// Without an explicit Env, a child process inherits the environment of the hub, with the secret key and the database
// password.
func TestEveryChildProcessSetsItsEnvironment(t *testing.T) {
	children := 0
	sources(t, func(pkg, file string, parsed *ast.File, set *token.FileSet) {
		if strings.HasSuffix(file, "_test.go") {
			return
		}
		for _, declaration := range parsed.Decls {
			function, ok := declaration.(*ast.FuncDecl)
			if !ok {
				continue
			}
			created, withEnv := environments(function)
			if children += len(created); len(created) > withEnv {
				t.Errorf("%s: %s starts a process without an Env of its own", set.Position(created[0]),
					function.Name.Name)
			}
		}
	})
	if children < 10 {
		t.Errorf("only %d processes are started; has the way to start one changed?", children)
	}
}

// environments counts the commands that a function creates, and those whose environment it sets.
func environments(function *ast.FuncDecl) (created []token.Pos, withEnv int) {
	ast.Inspect(function, func(node ast.Node) bool {
		switch node := node.(type) {
		case *ast.CallExpr:
			if called, ok := node.Fun.(*ast.SelectorExpr); ok && startsProcess(called) {
				created = append(created, node.Pos())
			}
		case *ast.CompositeLit:
			if is, ok := node.Type.(*ast.SelectorExpr); ok &&
				(isCallTo(is, "exec", "Cmd") || isCallTo(is, "syscall", "ProcAttr") || isCallTo(is, "os", "ProcAttr")) {
				created = append(created, node.Pos())
				for _, field := range node.Elts {
					if pair, ok := field.(*ast.KeyValueExpr); ok && pair.Key.(*ast.Ident).Name == "Env" {
						withEnv++
					}
				}
			}
		case *ast.AssignStmt:
			for i, to := range node.Lhs {
				field, ok := to.(*ast.SelectorExpr)
				if ok && field.Sel.Name == "Env" && (i >= len(node.Rhs) || !appendsTo(field, node.Rhs[i])) {
					withEnv++
				}
			}
		}
		return true
	})
	return created, withEnv
}

func startsProcess(called *ast.SelectorExpr) bool {
	return isCallTo(called, "exec", "Command") || isCallTo(called, "exec", "CommandContext")
}

func isCallTo(selector *ast.SelectorExpr, pkg, name string) bool {
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == pkg && selector.Sel.Name == name
}

// appendsTo reports whether a value is append(field, …), which extends an earlier value.
func appendsTo(field *ast.SelectorExpr, value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	return ok && len(call.Args) > 0 && types.ExprString(call.Fun) == "append" &&
		types.ExprString(call.Args[0]) == types.ExprString(field)
}
