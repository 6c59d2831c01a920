package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
)

// browser has the browser code break its own rules (C1 to C14, T3, T4): `npm run
// broken` in frontend, where that script exists. Without Node.js it says so, and
// counts as not shown with CI=true only.
func browser(ctx context.Context, root string, w io.Writer) bool {
	dir := filepath.Join(root, "frontend")
	text, err := os.ReadFile(filepath.Join(dir, "package.json"))
	if os.IsNotExist(err) {
		return true
	}
	var p struct{ Scripts map[string]string }
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		fmt.Fprintln(w, "\nreading frontend/package.json:", err)
		return false
	}
	if p.Scripts["broken"] == "" {
		return true
	}
	if _, err := exec.LookPath("npm"); err != nil {
		fmt.Fprintln(w, "\nskipped: npm run broken in frontend (Node.js with npm is not installed)")
		return os.Getenv("CI") != "true"
	}
	if _, err := os.Stat(filepath.Join(dir, "node_modules")); os.IsNotExist(err) {
		if !npm(ctx, dir, w, "ci", "--no-audit", "--no-fund") {
			return false
		}
	}
	fmt.Fprintln(w, "\nnpm run broken in frontend")
	return npm(ctx, dir, w, "run", "--silent", "broken")
}

// npm runs one npm command and shows what it prints.
func npm(ctx context.Context, dir string, w io.Writer, args ...string) bool {
	cmd := exec.CommandContext(ctx, "npm", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "NO_COLOR=1", "npm_config_update_notifier=false")
	cmd.Stdout, cmd.Stderr = w, w
	if err := cmd.Run(); err != nil {
		fmt.Fprintf(w, "npm %s: %v\n", args[0], err)
		return false
	}
	return true
}
