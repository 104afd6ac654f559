package ui

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestSpreadsheetOpensCSVWithoutFormulas opens a file with LibreOffice, if it is installed.
func TestSpreadsheetOpensCSVWithoutFormulas(t *testing.T) {
	office, err := exec.LookPath("soffice")
	if err != nil {
		t.Skip("LibreOffice is not installed")
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "list.csv")
	open := func(text string) string {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		out, err := exec.CommandContext(ctx, office, "-env:UserInstallation=file://"+filepath.Join(dir, "profile"),
			"--headless",
			"--infilter=CSV:44,34,76,1", "--convert-to", "fods", "--outdir", dir, file).CombinedOutput()
		require.NoError(t, err, "%s", out)
		sheet, err := os.ReadFile(filepath.Join(dir, "list.fods"))
		require.NoError(t, err)
		return string(sheet)
	}
	require.Contains(t, open("ref_id,title\nplain,=1+1\n"), "table:formula", "an unescaped cell is one")
	var list string
	for _, cell := range []string{"=1+1", ";=1+1", "a;=1+1", "＝1+1", "\t=1+1", "+1+1", "-1+1", "@SUM(A1)", `a,"=1+1"`,
		"a\r\n=1+1"} {
		list += record("row", cell)
	}
	require.NotContains(t, open(list), "table:formula")
}
