import type { JSONValue } from 'json-p3';
import { dump } from 'js-yaml';
import { CommandError } from '../command-error.ts';
import { formatValue, jsonPathTemplate, jsonPathValues, toJsonValue } from './json-path-template.ts';
import { print, printable } from './print.ts';
import { qualifiedName } from '../resource-names.ts';
import type { ServedResource } from '../resource-names.ts';
import { withSortedKeys } from '../server-object.ts';
import type { ServerObject } from '../server-object.ts';

/** Prints objects in the format that `-o` names. */
export interface ObjectPrinter {
  /** Called for each object, in order. */
  object(object: ServerObject, resource: ServedResource): Promise<void>;
  /** Called once, after the last object. */
  end(): Promise<void>;
}

/** The values of `-o` that are not tables. */
export const objectFormats = 'json, yaml, name, jsonpath=<template>, custom-columns=<NAME:path,…>';

/**
 * Returns the printer for a value of `-o`; undefined for tables. With `isList`, the printer prints JSON and YAML as a
 * List, even when there is only one object. @throws CommandError
 */
export function createObjectPrinter(output: string, isList: boolean): ObjectPrinter | undefined {
  const [format = '', ...rest] = output.split('=');
  const argument = rest.join('=');
  const hasArgument = output.includes('=');
  if (format === 'json' && !hasArgument) return isList ? new JsonListPrinter() : each((object) => json(object));
  if (format === 'yaml' && !hasArgument) return isList ? new YamlListPrinter() : new YamlDocumentsPrinter();
  if (format === 'name' && !hasArgument)
    return each(({ metadata }, resource) => `${qualifiedName(resource)}/${metadata.name}\n`);
  if (format === 'jsonpath' && argument !== '') return new TemplatePrinter(jsonPathTemplate(argument), isList);
  if (format === 'custom-columns' && argument !== '') return new ColumnsPrinter(argument, isList);
  if ((format === 'wide' || format === 'table' || format === '') && !hasArgument) return undefined;
  throw new CommandError(`-o: must be table, wide, ${objectFormats}; not "${output}"`, 2);
}

/** Returns JSON that is indented by four spaces, as in kubectl. */
function json(value: unknown): string {
  return `${JSON.stringify(withSortedKeys(value), undefined, 4)}\n`;
}

function each(format: (object: ServerObject, resource: ServedResource) => string): ObjectPrinter {
  return { object: async (object, resource) => print(format(object, resource)), end: async () => undefined };
}

/** Prints a YAML document for each object. */
class YamlDocumentsPrinter implements ObjectPrinter {
  #separator = '';

  async object(object: ServerObject): Promise<void> {
    await print(this.#separator + dump(withSortedKeys(object)));
    this.#separator = '---\n';
  }

  async end(): Promise<void> {}
}

class JsonListPrinter implements ObjectPrinter {
  #count = 0;

  async object(object: ServerObject): Promise<void> {
    const start = this.#count === 0 ? '{\n    "apiVersion": "v1",\n    "items": [\n' : ',\n';
    this.#count += 1;
    await print(start + json(object).trimEnd().replaceAll(/^/gm, '        '));
  }

  async end(): Promise<void> {
    const start = this.#count === 0 ? '{\n    "apiVersion": "v1",\n    "items": []' : '\n    ]';
    await print(`${start},\n    "kind": "List",\n    "metadata": {\n        "resourceVersion": ""\n    }\n}\n`);
  }
}

class YamlListPrinter implements ObjectPrinter {
  #count = 0;

  async object(object: ServerObject): Promise<void> {
    const start = this.#count === 0 ? 'apiVersion: v1\nitems:\n' : '';
    this.#count += 1;
    await print(start + dump([withSortedKeys(object)]));
  }

  async end(): Promise<void> {
    const start = this.#count === 0 ? 'apiVersion: v1\nitems: []\n' : '';
    await print(`${start}kind: List\nmetadata:\n  resourceVersion: ''\n`);
  }
}

/** Applies the template to each object; with `isList`, to one List of all objects. */
class TemplatePrinter implements ObjectPrinter {
  readonly #fill: (value: JSONValue) => string;
  readonly #isList: boolean;
  readonly #items: JSONValue[] = [];

  constructor(fill: (value: JSONValue) => string, isList: boolean) {
    this.#fill = fill;
    this.#isList = isList;
  }

  async object(object: ServerObject): Promise<void> {
    if (this.#isList) this.#items.push(toJsonValue(object));
    else await print(this.#fill(toJsonValue(object)));
  }

  async end(): Promise<void> {
    if (this.#isList) await print(this.#fill({ apiVersion: 'v1', kind: 'List', items: this.#items }));
  }
}

/**
 * Prints the rows of a list together at the end, so that the columns fit all of them. Without a list, prints each row
 * immediately; a later row can then only make a column wider.
 */
class ColumnsPrinter implements ObjectPrinter {
  readonly #columns: readonly { readonly name: string; readonly read: ReturnType<typeof jsonPathValues> }[];
  readonly #isList: boolean;
  readonly #widths: number[] = [];
  #lines: (readonly string[])[];

  /** @throws CommandError unless the argument has the form `NAME:path,NAME:path` */
  constructor(argument: string, isList: boolean) {
    this.#columns = argument.split(',').map((column) => {
      const [, name, path] = /^([^:]+):(.+)$/.exec(column) ?? [];
      if (name !== undefined && path !== undefined)
        return { name, read: jsonPathValues(path.replace(/^\{(.*)\}$/, '$1')) };
      throw new CommandError(`-o custom-columns: "${column}" must be NAME:path, such as AGE:.spec.age`, 2);
    });
    this.#isList = isList;
    this.#lines = [this.#columns.map(({ name }) => name)];
  }

  async object(object: ServerObject): Promise<void> {
    const value = toJsonValue(object);
    this.#lines.push(this.#columns.map(({ read }) => printable(read(value).map(formatValue).join(',')) || '<none>'));
    if (!this.#isList) await this.#print();
  }

  async end(): Promise<void> {
    if (this.#isList) await this.#print();
  }

  async #print(): Promise<void> {
    const lines = this.#lines;
    this.#lines = [];
    for (const line of lines)
      for (const [at, { length }] of line.entries()) this.#widths[at] = Math.max(this.#widths[at] ?? 0, length);
    await print(lines.map((line) => this.#format(line)).join(''));
  }

  #format(line: readonly string[]): string {
    const cells = line.map((cell, at) => cell.padEnd(this.#widths[at] ?? 0));
    return `${cells.join('   ').trimEnd()}\n`;
  }
}
