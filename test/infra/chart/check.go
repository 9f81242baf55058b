// check CHART: lints a Helm chart and renders it for each set of values, one JSON object per line of standard input.
// Prints the manifests of each set, or what is wrong, as one line of JSON. A field that Kubernetes does not know is wrong.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"

	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/v2/lint"
	"helm.sh/helm/v4/pkg/chart/v2/lint/support"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	"helm.sh/helm/v4/pkg/engine"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"
)

func main() {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var values map[string]any
		if err := json.Unmarshal(lines.Bytes(), &values); err != nil {
			panic(err)
		}
		manifests, err := check(os.Args[1], values)
		answer := map[string]any{"manifests": manifests}
		if err != nil {
			answer["error"] = err.Error()
		}
		line, _ := json.Marshal(answer)
		fmt.Println(string(line))
	}
}

func check(folder string, values map[string]any) ([]any, error) {
	for _, message := range lint.RunAll(folder, values, "test").Messages {
		if message.Severity >= support.WarningSev {
			return nil, message
		}
	}
	chart, err := loader.Load(folder)
	if err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "test", Namespace: "test", Revision: 1, IsInstall: true}
	all, err := util.ToRenderValues(chart, values, release, nil)
	if err != nil {
		return nil, err
	}
	files, err := engine.Engine{Strict: true}.Render(chart, all)
	if err != nil {
		return nil, err
	}
	names := []string{}
	for name := range files {
		if strings.HasSuffix(name, ".yaml") {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	manifests := []any{}
	for _, name := range names {
		for _, text := range strings.Split(files[name], "\n---\n") {
			var manifest map[string]any
			if err := yaml.UnmarshalStrict([]byte(text), &manifest); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			if len(manifest) == 0 {
				continue
			}
			if err := known(text); err != nil {
				return nil, fmt.Errorf("%s: %w", name, err)
			}
			manifests = append(manifests, manifest)
		}
	}
	return manifests, nil
}

// Decodes a manifest into the Go type of its kind; unknown fields are errors. Kinds of operators have no type here.
func known(text string) error {
	codecs := serializer.NewCodecFactory(scheme.Scheme, serializer.EnableStrict)
	_, _, err := codecs.UniversalDeserializer().Decode([]byte(text), nil, nil)
	if runtime.IsNotRegisteredError(err) && strings.Contains(text, "apiVersion: keda.sh/") {
		return nil
	}
	return err
}
