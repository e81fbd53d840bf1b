// What two linters say of the description: Redocly's recommended rules and Spectral's for OpenAPI.
// Only errors count; warnings are listed. Nothing is fetched.
import { createConfig, formatProblems, getTotals, lintFromString } from '@redocly/openapi-core';
import spectral from '@stoplight/spectral-core';
import rulesets from '@stoplight/spectral-rulesets';
import { readFileSync } from 'node:fs';

const file = process.argv[2];
const source = readFileSync(file, 'utf8');

// Rules that say less here than they ask for.
const EXEMPT = {
  // A page, a plan or a sample needs nothing of its caller and refuses nobody.
  'operation-4xx-response': 'off',
  // The service that is tested runs on this machine.
  'no-server-example.com': 'off',
  // Two operations only lead elsewhere.
  'operation-2xx-response': 'off',
  // The lines of the export, which is no JSON document, are described by schemas of their own.
  'no-unused-components': 'off',
};

const redocly = async () => {
  const config = await createConfig({ extends: ['recommended'], rules: EXEMPT });
  const problems = await lintFromString({ source, absoluteRef: file, config });
  const totals = getTotals(problems);
  formatProblems(problems, { format: 'stylish', totals, version: '' });
  return { errors: totals.errors, warnings: totals.warnings };
};

const lintWithSpectral = async () => {
  const linter = new spectral.Spectral();
  linter.setRuleset({
    extends: [[rulesets.oas, 'recommended']],
    rules: {
      // A summary says it all where there is no description.
      'operation-description': 'off',
      // Whom to ask depends on who runs the service.
      'info-contact': 'off',
      'oas3-unused-component': 'off',
    },
  });
  const found = await linter.run(source);
  for (const { severity, code, path, message } of found) {
    console.log(`${severity === 0 ? 'error' : 'warning'} ${code} ${path.join('.')}: ${message}`);
  }
  const errors = found.filter(({ severity }) => severity === 0).length;
  return { errors, warnings: found.length - errors };
};

const results = { redocly: await redocly(), spectral: await lintWithSpectral() };
console.log(JSON.stringify(results));
process.exit(Object.values(results).some(({ errors, warnings }) => errors + warnings > 0) ? 1 : 0);
