// Prints a compose file as `docker compose config --format json` would: it is the same reader, which interpolates, checks it
// against the schema and checks what its parts say of each other.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/compose-spec/compose-go/v2/cli"
)

func main() {
	options, err := cli.NewProjectOptions(os.Args[1:],
		cli.WithWorkingDirectory(""), cli.WithOsEnv, cli.WithEnvFiles(), cli.WithDotEnv)
	if err == nil {
		project, loading := options.LoadProject(context.Background())
		if err = loading; err == nil {
			var text []byte
			if text, err = project.MarshalJSON(); err == nil {
				fmt.Println(string(text))
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
