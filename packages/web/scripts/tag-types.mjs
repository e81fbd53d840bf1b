// Derives src/tag.ts, the type of `window.assent`, from the source of the consent tag. `--check` compares only.
import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

const source = fileURLToPath(new URL('../../../scripts-src/consent-tag/api.ts', import.meta.url));
const target = fileURLToPath(new URL('../src/tag.ts', import.meta.url));

const options = { strict: true, target: ts.ScriptTarget.ES2020, moduleResolution: ts.ModuleResolutionKind.Bundler, module: ts.ModuleKind.ES2020, types: [], lib: ['lib.es2021.d.ts', 'lib.dom.d.ts', 'lib.dom.iterable.d.ts'] };
const program = ts.createProgram([source], options);
const checker = program.getTypeChecker();
const file = program.getSourceFile(source);

const snapshot = file.statements.find((node) => ts.isInterfaceDeclaration(node) && node.name.text === 'Snapshot');
const methods = file.statements
  .filter(ts.isVariableStatement)
  .flatMap(({ declarationList }) => [...declarationList.declarations])
  .find(({ name }) => name.getText() === 'methods');
if (!snapshot || !methods) throw new Error('scripts-src/consent-tag/api.ts no longer declares Snapshot and methods');

const FLAGS = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.UseAliasDefinedOutsideCurrentScope | ts.TypeFormatFlags.InTypeAlias;
const print = (type, node) => checker.typeToString(type, node, FLAGS).replace(/\bListener\b/g, '(now: Snapshot) => void');
const lines = checker
  .getTypeAtLocation(methods.name)
  .getProperties()
  .map((method) => `  ${method.name}: ${print(checker.getTypeOfSymbolAtLocation(method, methods), methods)};`);

const text = `// Derived from scripts-src/consent-tag/api.ts by scripts/tag-types.mjs.

${snapshot.getFullText().trim()}

export interface Methods {
${lines.join('\n')}
}

/** The type of \`window.assent\`: its methods, and the same as a call, which is queued until the tag has loaded. */
export type Assent = Methods & (<Name extends keyof Methods>(name: Name, ...args: Parameters<Methods[Name]>) => unknown);
`;

if (!process.argv.includes('--check')) writeFileSync(target, text);
else if (readFileSync(target, 'utf8') !== text) throw new Error('src/tag.ts is outdated: run npm run types');
