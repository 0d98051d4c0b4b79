// `import` and `require` of a cell: as a file of the working directory would do them, and never a stale one.
"use strict";
const fs = require("node:fs");
const path = require("node:path");
const url = require("node:url");
const vm = require("node:vm");
const { createRequire } = require("node:module");

const { String } = globalThis;
const { cwd } = process;

// A file that need not exist: what it would resolve is what a cell resolves.
const place = () => path.join(cwd(), "[cell]");

let importer = null;
let importerFolder = null;

// That this is how Node imports is nothing for whoever reads a cell.
const quietly = (run) => {
  const { emitWarning } = process;
  process.emitWarning = () => {};
  try {
    return run();
  } finally {
    process.emitWarning = emitWarning;
  }
};

const importFrom = () => {
  const folder = cwd();
  if (importerFolder !== folder) {
    const options = { filename: place(), importModuleDynamically: vm.constants.USE_MAIN_CONTEXT_DEFAULT_LOADER };
    const imports = new vm.Script("(specifier, options) => import(specifier, options)", options).runInThisContext();
    importer = (specifier, more) => quietly(() => imports(specifier, more));
    importerFolder = folder;
  }
  return importer;
};

/** `import()` of a cell. A relative file that was edited is read again. */
const load = (specifier, options) => {
  const name = String(specifier);
  if (!/^(\.{0,2}\/|\.\.?$)/.test(name)) return importFrom()(name, options);
  const file = path.resolve(cwd(), name);
  let version = "";
  try {
    const stat = fs.statSync(file, { bigint: true });
    version = `?v=${stat.mtimeNs}-${stat.size}`;
  } catch {
    // The loader says what is missing.
  }
  return importFrom()(url.pathToFileURL(file).href + version, options);
};

const requireHere = Object.assign((id) => createRequire(place())(id), {
  resolve: (id, options) => createRequire(place()).resolve(id, options),
  cache: require("node:module")._cache,
});

module.exports = { load, requireHere };
