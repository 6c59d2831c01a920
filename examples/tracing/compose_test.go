package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

// Given the compose file for people with Docker, then it is one that Compose reads,
// its image is one release, the same as `make jaeger` builds, and its ports are those
// of jaeger.yaml, on this machine only.
func TestTheComposeFileIsTheSameJaegerOnLoopback(t *testing.T) {
	text := func(path string) []byte {
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	var compose struct {
		Services map[string]struct {
			Image string
			Ports []string
		}
	}
	if err := yaml.UnmarshalWithOptions(text("compose.yaml"), &compose, yaml.Strict()); err != nil {
		t.Fatal(err)
	}
	jaeger, there := compose.Services["jaeger"]
	if !there || len(compose.Services) != 1 {
		t.Fatalf("services %v, want jaeger alone", compose.Services)
	}
	// Jaeger counts a release twice: 1.76 as a module is 2.13 as an image.
	var major, image, module, patch int
	if _, err := fmt.Sscanf(jaeger.Image, "jaegertracing/jaeger:%d.%d.%d", &major, &image, &patch); err != nil || major != 2 {
		t.Fatalf("the image %q is not pinned to a release: %v", jaeger.Image, err)
	}
	pinned := regexp.MustCompile(`github.com/jaegertracing/jaeger (v1\.\d+\.\d+)`).FindSubmatch(text("../../tools/jaeger/jaeger.mod"))
	if pinned == nil {
		t.Fatal("tools/jaeger/jaeger.mod names no Jaeger")
	}
	if _, err := fmt.Sscanf(string(pinned[1]), "v1.%d.", &module); err != nil || module-63 != image {
		t.Errorf("the image is %s, make jaeger builds %s: not the same release", jaeger.Image, pinned[1])
	}
	var config struct {
		Extensions struct {
			Query struct{ HTTP struct{ Endpoint string } } `yaml:"jaeger_query"`
		}
		Receivers struct {
			OTLP struct {
				Protocols struct{ HTTP struct{ Endpoint string } }
			}
		}
	}
	if err := yaml.Unmarshal(text("jaeger.yaml"), &config); err != nil {
		t.Fatal(err)
	}
	var want []string
	for _, endpoint := range []string{config.Extensions.Query.HTTP.Endpoint, config.Receivers.OTLP.Protocols.HTTP.Endpoint} {
		_, address, _ := strings.Cut(strings.TrimSuffix(endpoint, "}"), ":-")
		host, port, _ := strings.Cut(address, ":")
		if host != "127.0.0.1" {
			t.Errorf("jaeger.yaml listens on %q", endpoint)
		}
		want = append(want, address+":"+port)
	}
	if !slices.Equal(jaeger.Ports, want) {
		t.Errorf("ports %q, want %q", jaeger.Ports, want)
	}
}
