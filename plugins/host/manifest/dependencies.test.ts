import { expect } from 'chai';
import { dependencyProblems } from './dependencies.ts';
import { parseManifest } from './manifest.ts';

function problemsOf(plugins: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const manifests = Object.entries(plugins).map(([name, dependencies]) =>
    parseManifest(`name: ${name}\nversion: 1.0.0\ndependencies: ${dependencies}\n`),
  );
  return Object.fromEntries(dependencyProblems(new Map(manifests.map((manifest) => [manifest.name, manifest]))));
}

describe('dependencies of plugins', () => {
  it('are satisfied when all plugins exist, in any order', () => {
    expect(problemsOf({ c: '{ b: ^1.0.0, a: ^1.0.0 }', b: '{ a: "*" }', a: '{}' })).to.deep.equal({});
  });

  it('that are missing are reported only for the plugin that needs them', () => {
    expect(problemsOf({ a: '{ x: ^1.0.0 }', b: '{}' })).to.deep.equal({
      a: 'needs plugin "x" ^1.0.0, which is not installed',
    });
  });

  it('may be absent when optional, but must have the right version when present', () => {
    expect(problemsOf({ a: '{ x?: ^1.0.0 }' })).to.deep.equal({});
    expect(problemsOf({ a: '{ x?: ^2.0.0 }', x: '{}' })).to.deep.equal({
      a: 'needs plugin "x" ^2.0.0, but version 1.0.0 is installed',
    });
  });

  it('that form a cycle are reported, with the cycle, for each plugin in the cycle, but not for dependents outside of it', () => {
    const all = '"*"';
    expect(
      problemsOf({ a: `{ b: ${all} }`, b: `{ c?: ${all} }`, c: `{ a: ${all} }`, d: `{ a: ${all} }` }),
    ).to.deep.equal({
      a: 'depends on itself: a → b → c → a',
      b: 'depends on itself: b → c → a → b',
      c: 'depends on itself: c → a → b → c',
    });
    expect(problemsOf({ a: `{ a: ${all} }` })).to.deep.equal({ a: 'depends on itself: a → a' });
  });
});
