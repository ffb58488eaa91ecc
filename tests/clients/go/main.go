// The Go SDK: see run.py for what a client does and prints.
//
//	client legacy|auto URL
//	client legacy|auto -- COMMAND [ARGUMENT ...]
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

type bearer struct{ token string }

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	if b.token != "" {
		r = r.Clone(r.Context())
		r.Header.Set("Authorization", "Bearer "+b.token)
	}
	return http.DefaultTransport.RoundTrip(r)
}

func transportOf(url string, command []string) mcp.Transport {
	if url == "--" {
		return &mcp.CommandTransport{Command: exec.Command(command[0],
			command[1:]...)}
	}
	return &mcp.StreamableClientTransport{Endpoint: url,
		HTTPClient: &http.Client{Transport: bearer{os.Getenv("TOKEN")}}}
}

var (
	programs map[string]string
	progress atomic.Int64
	// What to do once the next call has reported something.
	onProgress atomic.Pointer[func()]
)

func run(ctx context.Context, s *mcp.ClientSession, name string) (
	*mcp.CallToolResult, error) {
	params := &mcp.CallToolParams{Name: "run_python", Arguments: map[string]any{
		"code": programs[name], "timeout": 30}}
	params.SetProgressToken(name)
	return s.CallTool(ctx, params)
}

func mustRun(s *mcp.ClientSession, name string) *mcp.CallToolResult {
	result, err := run(context.Background(), s, name)
	if err != nil {
		log.Fatalf("%s: %v", name, err)
	}
	return result
}

func texts(result *mcp.CallToolResult) string {
	var b strings.Builder
	for _, c := range result.Content {
		if t, ok := c.(*mcp.TextContent); ok {
			b.WriteString(t.Text)
		}
	}
	return b.String()
}

func cancelled(s *mcp.ClientSession) string {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	stop := func() { cancel() }
	onProgress.Store(&stop)
	defer onProgress.Store(nil)
	if _, err := run(ctx, s, "hang"); err != nil {
		return "cancelled: " + err.Error()
	}
	return "finished"
}

func main() {
	ctx := context.Background()
	mode, url, command := os.Args[1], os.Args[2], os.Args[3:]
	if err := json.Unmarshal([]byte(os.Getenv("PROGRAMS")), &programs); err != nil {
		log.Fatal(err)
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "clients-test",
		Version: "1"}, &mcp.ClientOptions{ProgressNotificationHandler: func(
		_ context.Context, _ *mcp.ProgressNotificationClientRequest) {
		progress.Add(1)
		if f := onProgress.Load(); f != nil {
			(*f)()
		}
	}})
	options := &mcp.ClientSessionOptions{ProtocolVersion: "2026-07-28"}
	if mode == "legacy" {
		options.ProtocolVersion = "2025-11-25"
	}
	s, err := client.Connect(ctx, transportOf(url, command), options)
	if err != nil {
		log.Fatal(err)
	}
	seen := map[string]any{"errors": []string{}}
	seen["server"] = s.InitializeResult().ServerInfo.Name
	seen["modern"] = s.InitializeResult().ProtocolVersion >= "2026-07-28"
	list, err := s.ListTools(ctx, nil)
	if err != nil {
		log.Fatal(err)
	}
	names := []string{}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	seen["tools"] = names
	progress.Store(0)
	result := mustRun(s, "progress")
	seen["progress"] = map[string]any{"count": progress.Load(),
		"text": texts(result)}
	result = mustRun(s, "error")
	seen["error"] = map[string]any{"isError": result.IsError,
		"text": texts(result)}
	for _, c := range mustRun(s, "plot").Content {
		if image, ok := c.(*mcp.ImageContent); ok {
			seen["plot"] = map[string]any{"mime": image.MIMEType,
				"data": base64.StdEncoding.EncodeToString(image.Data)}
		}
	}
	seen["cancel"] = cancelled(s)
	seen["after"] = texts(mustRun(s, "after"))
	begun := time.Now()
	if err := s.Close(); err != nil {
		seen["errors"] = []string{err.Error()}
	}
	seen["closeMs"] = float64(time.Since(begun).Microseconds()) / 1000
	line, err := json.Marshal(seen)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(line))
}
