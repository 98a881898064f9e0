// Validates manifests against the models that npm's @kubernetes-models make of the definitions of Istio
// 1.29 and of the experimental channel of the Gateway API. A model reads every field that it knows: what
// it has not read, it does not know.
//
// Arguments: the folder node_modules, and a file with a list of manifests in JSON.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [, , modules, file] = process.argv;

const MODELS = {
  "gateway.networking.k8s.io/v1 HTTPRoute": ["gateway-api", "IoK8sSigsGatewayApiApisV1HTTPRoute"],
  "gateway.networking.x-k8s.io/v1alpha1 XBackendTrafficPolicy": [
    "gateway-api",
    "IoK8sSigsGatewayApiApisxV1alpha1XBackendTrafficPolicy",
  ],
  "networking.istio.io/v1 VirtualService": ["istio", "NetworkingIstioIoV1VirtualService"],
  "networking.istio.io/v1 DestinationRule": ["istio", "NetworkingIstioIoV1DestinationRule"],
  "extensions.istio.io/v1alpha1 WasmPlugin": ["istio", "ExtensionsIstioIoV1alpha1WasmPlugin"],
};

// Not looked into by the definition either: a free structure.
const FREE = ["/spec/pluginConfig"];

/** The value, noting which of its fields are read. */
function watched(value, path, read) {
  if (value === null || typeof value !== "object") return value;
  return new Proxy(value, {
    get(target, key) {
      if (typeof key === "string") read.add(`${path}/${key}`);
      return watched(target[key], `${path}/${String(key)}`, read);
    },
  });
}

function* fields(value, path) {
  if (value === null || typeof value !== "object" || FREE.includes(path)) return;
  for (const [key, below] of Object.entries(value)) {
    yield `${path}/${key}`;
    yield* fields(below, `${path}/${key}`);
  }
}

const seen = {};
const wrong = [];
for (const manifest of JSON.parse(readFileSync(file, "utf8"))) {
  const name = `${manifest.apiVersion} ${manifest.kind}`;
  const model = MODELS[name];
  if (!model) continue;
  seen[name] = (seen[name] ?? 0) + 1;
  const [folder, schema] = model;
  const path = join(modules, "@kubernetes-models", folder, "_schemas", `${schema}.js`);
  const { validate } = await import(pathToFileURL(path).href);
  const read = new Set();
  if (!validate(watched(manifest, "", read))) {
    wrong.push(...validate.errors.map((error) => `${name}: ${error.instancePath} ${error.message ?? error.keyword}`));
    continue;
  }
  const unknown = [...fields(manifest, "")].filter((field) => !read.has(field));
  wrong.push(...unknown.map((field) => `${name}: nobody knows ${field}`));
}
console.log(JSON.stringify({ seen, wrong }));
