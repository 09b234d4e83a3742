import { RE2JS, RE2JSException } from 're2js';
import { checkDefault } from './check-default.ts';
import { checkCompleteness } from './check-completeness.ts';
import { checkLists } from './check-lists.ts';
import type { DefinitionSchema } from './definition.ts';
import type { DefinitionViolations } from './violations.ts';

/** Deepest nesting, and most schemas, that are looked at: validators recurse, and a definition is at most 1.5 MiB. */
const maxDepth = 100;
const maxSchemas = 50_000;

const types: readonly string[] = ['array', 'boolean', 'integer', 'number', 'object', 'string'];

/** What may not stand below allOf, anyOf, oneOf and not: it says what a value is, which the outer schema does. */
const structuralKeywords = [
  'description',
  'title',
  'default',
  'nullable',
  'additionalProperties',
  'x-kubernetes-preserve-unknown-fields',
  'x-kubernetes-embedded-resource',
  'x-kubernetes-list-type',
  'x-kubernetes-list-map-keys',
  'x-kubernetes-map-type',
  'x-kubernetes-validations',
] as const;

/** Where a schema stands. */
interface Place {
  readonly field: string;
  readonly depth: number;
  /** `root`: of the whole object. `branch`: below allOf, anyOf, oneOf or not. */
  readonly level: 'root' | 'field' | 'branch';
  /** Below the apiVersion, kind or metadata of a resource. */
  readonly isMetadata: boolean;
}

/** Checks a schema by the rules of structural schemas: every value has a type, outside of allOf, anyOf, oneOf and not. */
export function checkStructuralSchema(field: string, schema: DefinitionSchema, violations: DefinitionViolations): void {
  const check = new SchemaCheck(violations);
  check.visit(schema, { field, depth: 0, level: 'root', isMetadata: false });
}

class SchemaCheck {
  readonly #violations: DefinitionViolations;
  #count = 0;

  constructor(violations: DefinitionViolations) {
    this.#violations = violations;
  }

  visit(schema: DefinitionSchema, place: Place): void {
    const { field, depth, level } = place;
    this.#count += 1;
    if (depth > maxDepth || this.#count > maxSchemas)
      return this.#violations.invalid(
        field,
        depth,
        `schemas nest at most ${maxDepth} levels, and are at most ${maxSchemas}`,
      );
    this.#checkKeywords(schema, field);
    if (level === 'branch') this.#checkBranch(schema, field);
    else this.#checkStructure(schema, place);
    this.#visitChildren(schema, place);
  }

  #checkKeywords(schema: DefinitionSchema, field: string): void {
    const violations = this.#violations;
    const { type, uniqueItems, additionalProperties, properties, pattern } = schema;
    if (type !== undefined && !types.includes(type)) violations.notSupported(`${field}.type`, type, types);
    if (uniqueItems === true)
      violations.forbidden(
        `${field}.uniqueItems`,
        'uniqueItems cannot be set to true; use x-kubernetes-list-type: set',
      );
    if (additionalProperties === false)
      violations.forbidden(`${field}.additionalProperties`, 'additionalProperties cannot be set to false');
    else if (additionalProperties !== undefined && Object.keys(properties ?? {}).length > 0)
      violations.forbidden(`${field}.additionalProperties`, 'additionalProperties and properties are mutual exclusive');
    if (schema['x-kubernetes-preserve-unknown-fields'] === false)
      violations.invalid(`${field}.x-kubernetes-preserve-unknown-fields`, false, 'must be true or undefined');
    if (pattern !== undefined) this.#checkPattern(`${field}.pattern`, pattern);
  }

  #checkPattern(field: string, pattern: unknown): void {
    try {
      RE2JS.compile(RE2JS.translateRegExp(String(pattern)));
    } catch (error) {
      if (!(error instanceof RE2JSException)) throw error;
      this.#violations.invalid(field, pattern, `must be a valid regular expression, but isn't: ${error.message}`);
    }
  }

  #checkBranch(schema: DefinitionSchema, field: string): void {
    for (const keyword of structuralKeywords) {
      if (schema[keyword] !== undefined)
        this.#violations.forbidden(`${field}.${keyword}`, 'must not be set inside allOf, anyOf, oneOf or not');
    }
    const isIntOrString = schema.type === 'integer' || schema.type === 'string';
    if (schema.type !== undefined && !isIntOrString && types.includes(schema.type))
      this.#violations.forbidden(`${field}.type`, 'must be empty to be structural');
  }

  #checkStructure(schema: DefinitionSchema, place: Place): void {
    const { field, level, isMetadata } = place;
    const violations = this.#violations;
    const isFree =
      schema['x-kubernetes-int-or-string'] === true || schema['x-kubernetes-preserve-unknown-fields'] === true;
    if (schema.type === undefined && (!isFree || level === 'root')) {
      const rule = level === 'root' ? 'must not be empty at the root' : 'must not be empty for specified object fields';
      violations.required(`${field}.type`, rule);
    } else if (level === 'root' && schema.type !== 'object')
      violations.invalid(`${field}.type`, schema.type, 'must be object at the root');
    if (schema['x-kubernetes-int-or-string'] === true && schema.type !== undefined)
      violations.forbidden(`${field}.type`, 'must be empty if x-kubernetes-int-or-string is true');
    if (isMetadata && schema['x-kubernetes-embedded-resource'] === true)
      violations.forbidden(`${field}.x-kubernetes-embedded-resource`, 'must not be used inside of resource meta');
    else if (schema['x-kubernetes-embedded-resource'] === true) this.#checkEmbedded(schema, field);
    if (level === 'root' || schema['x-kubernetes-embedded-resource'] === true) this.#checkResource(schema, field);
    if (schema.default !== undefined && isMetadata)
      violations.forbidden(`${field}.default`, 'must not be set in metadata');
    else if (schema.default !== undefined) checkDefault(`${field}.default`, schema, violations);
    checkLists(field, schema, violations);
    checkCompleteness(field, schema, violations);
  }

  #checkEmbedded(schema: DefinitionSchema, field: string): void {
    if (schema.type !== 'object')
      this.#violations.invalid(
        `${field}.type`,
        schema.type,
        'must be object if x-kubernetes-embedded-resource is true',
      );
    const isFree = schema['x-kubernetes-preserve-unknown-fields'] === true;
    if (!isFree && Object.keys(schema.properties ?? {}).length === 0)
      this.#violations.required(
        `${field}.properties`,
        'must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields',
      );
  }

  /** apiVersion, kind and metadata of a resource are what they are; of metadata, names may be narrowed. */
  #checkResource({ properties = {}, additionalProperties }: DefinitionSchema, field: string): void {
    const violations = this.#violations;
    if (additionalProperties !== undefined)
      violations.forbidden(`${field}.additionalProperties`, 'must not be used in a resource');
    for (const [name, type] of [
      ['apiVersion', 'string'],
      ['kind', 'string'],
      ['metadata', 'object'],
    ] as const) {
      const declared = Object.hasOwn(properties, name) ? properties[name] : undefined;
      if (declared?.type !== undefined && declared.type !== type)
        violations.invalid(`${field}.properties[${name}].type`, declared.type, `must be ${type}`);
    }
  }

  #visitChildren(schema: DefinitionSchema, place: Place): void {
    const { field, level } = place;
    const inner: Place = { ...place, depth: place.depth + 1, level: level === 'branch' ? 'branch' : 'field' };
    const isResource = level === 'root' || schema['x-kubernetes-embedded-resource'] === true;
    for (const [name, child] of Object.entries(schema.properties ?? {})) {
      const isMetadata = place.isMetadata || (isResource && ['apiVersion', 'kind', 'metadata'].includes(name));
      if (name === '__proto__') this.#violations.forbidden(`${field}.properties[${name}]`, 'is no name of a field');
      if (level === 'root' && name === 'metadata') this.#checkRootMetadata(`${field}.properties[metadata]`, child);
      this.visit(child, { ...inner, field: `${field}.properties[${name}]`, isMetadata });
    }
    if (schema.items !== undefined) this.visit(schema.items, { ...inner, field: `${field}.items` });
    if (typeof schema.additionalProperties === 'object')
      this.visit(schema.additionalProperties, { ...inner, field: `${field}.additionalProperties` });
    const branch: Place = { ...inner, level: 'branch' };
    for (const keyword of ['allOf', 'anyOf', 'oneOf'] as const)
      for (const [index, child] of (schema[keyword] ?? []).entries())
        this.visit(child, { ...branch, field: `${field}.${keyword}[${index}]` });
    if (schema.not !== undefined) this.visit(schema.not, { ...branch, field: `${field}.not` });
  }

  #checkRootMetadata(field: string, { properties = {} }: DefinitionSchema): void {
    const others = Object.keys(properties).filter((name) => name !== 'name' && name !== 'generateName');
    if (others.length > 0)
      this.#violations.forbidden(
        field,
        'must not specify anything other than name and generateName, but metadata is implicitly specified',
      );
  }
}
