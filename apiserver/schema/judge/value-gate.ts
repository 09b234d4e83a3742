import type { JsonSchema } from '@homeostat/controller-runtime/api';
import { _, Ajv2020 } from 'ajv/dist/2020.js';
import type { Code, CodeKeywordDefinition, KeywordCxt } from 'ajv/dist/2020.js';
import { CheckBudget } from './check-budget.ts';
import { isLongerThan, isShorterThan } from './code-points.ts';
import { isDistinct } from './distinct.ts';
import type { Identity } from './distinct.ts';
import { isEmbeddedResource } from './embedded-resource.ts';
import { formats } from './formats.ts';
import type { LinearPatterns } from './linear-pattern.ts';
import { multipleOfPrecision } from './number-range.ts';
import { translateNamed, translateSchema } from './translate-schema.ts';

/**
 * The maximum number of references that one check follows. Objects of 1.5 MiB need far fewer. To follow this many takes
 * a second, mostly because ajv collects the errors of branches.
 */
const maxReferences = 250_000;

/**
 * In a list whose items must differ, the comparison of one value with the other items counts as this many references.
 * A check may follow {@link maxReferences} references, so it compares at most 100,000 values, which takes 30 ms.
 */
const referencesOfComparison = 2.5;

/**
 * Returns true for a value without a violation; false also for a value whose check would take more than the maximum
 * work.
 */
export type ValueGate = (value: unknown) => boolean;

/** The data that the check of values needs in addition to the schema. The explainer gets the same data. */
export interface CheckParts {
  readonly components: Readonly<Record<string, JsonSchema>>;
  readonly patterns: LinearPatterns;
}

/**
 * Compiles a schema to a function that stops at the first violation. For a value that this function refuses, the class
 * Explainer lists at most 100 violations.
 * @throws Error for a reference to a missing schema, and for a pattern that RE2 does not support
 */
export function compileGate(root: JsonSchema, { components, patterns }: CheckParts): ValueGate {
  const budget = new CheckBudget(maxReferences);
  const regExp = Object.assign((pattern: string) => patterns.get(pattern), { code: 'linearPattern' });
  const ajv = new Ajv2020({
    strict: true,
    // The schema was checked at registration. Without the next two options, ajv would refuse schemas that our dialect
    // allows. The options after them save work that is not needed.
    strictTypes: false,
    strictRequired: false,
    validateSchema: false,
    meta: false,
    addUsedSchema: false,
    logger: false,
    messages: false,
    multipleOfPrecision,
    ownProperties: namesInherited({ root, components }),
    code: { regExp },
  });
  // ajv tracks evaluated fields only for keywords that our dialect does not have. The tracking would make anyOf check
  // every branch.
  ajv.opts.unevaluated = false;
  for (const [name, check] of formats) ajv.addFormat(name, check);
  for (const keyword of ['minLength', 'maxLength']) ajv.removeKeyword(keyword);
  for (const keyword of keywords) ajv.addKeyword(keyword);
  ajv.addKeyword(budgetKeyword(budget));
  ajv.addKeyword(distinctKeyword(budget));
  const check = ajv.compile({ ...translateSchema(root), $defs: budgeted(translateNamed(components)) });
  if (!budget.isUsed) return check;
  return (value) => {
    budget.reset();
    // When the budget is used up, the check follows no further references, and each of them counts as a violation.
    // Below `not`, a violation makes a value valid. So the value is refused, whatever the check returns.
    return check(value) && !budget.isSpent;
  };
}

/**
 * Returns the schemas of the components, each as the second member of an `allOf`. The first member checks the budget,
 * which limits how many references the validation of one value follows. The members are checked in order, so the schema
 * of a component is not checked once the budget is used up.
 */
function budgeted(definitions: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const entries = Object.entries(definitions);
  return Object.fromEntries(entries.map(([name, schema]) => [name, { allOf: [{ budget: true }, schema] }]));
}

function budgetKeyword(budget: CheckBudget): CodeKeywordDefinition {
  return {
    keyword: 'budget',
    code(context: KeywordCxt): void {
      budget.isUsed = true;
      const counter = context.gen.scopeValue('obj', { ref: budget });
      context.fail(_`!${counter}.spend()`);
    },
  };
}

function distinctKeyword(budget: CheckBudget): CodeKeywordDefinition {
  const ref = (items: readonly unknown[], identity: Identity): boolean =>
    isDistinct(items, identity, (values) => budget.spend(referencesOfComparison * values));
  return {
    keyword: 'distinct',
    type: 'array',
    code(context: KeywordCxt): void {
      budget.isUsed = true;
      const isOk = context.gen.scopeValue('func', { ref });
      context.fail(_`!${isOk}(${context.data}, ${context.schemaValue})`);
    },
  };
}

const keywords: readonly CodeKeywordDefinition[] = [
  // For most texts, the number of UTF-16 units decides, because it is far from the limit. Then no function is called.
  lengthKeyword('maxLength', isLongerThan, ({ data, schemaValue }) => _`${data}.length > ${schemaValue}`),
  lengthKeyword('minLength', isShorterThan, ({ data, schemaValue }) => _`${data}.length < 2 * ${schemaValue}`),
  {
    keyword: 'embedded',
    type: 'object',
    code(context: KeywordCxt): void {
      const isOk = context.gen.scopeValue('func', { ref: isEmbeddedResource });
      context.fail(_`!${isOk}(${context.data})`);
    },
  },
];

/**
 * Returns a keyword for the length of texts. The keywords of ajv would count the code points of every text, even if its
 * length is far from the limit.
 */
function lengthKeyword(
  keyword: string,
  isWrong: (text: string, limit: number) => boolean,
  isNear: (context: KeywordCxt) => Code,
): CodeKeywordDefinition {
  return {
    keyword,
    type: 'string',
    schemaType: 'number',
    code(context: KeywordCxt): void {
      const check = context.gen.scopeValue('func', { ref: isWrong });
      context.fail(_`${isNear(context)} && ${check}(${context.data}, ${context.schemaValue})`);
    },
  };
}

/**
 * Returns true when a schema names a field that every JavaScript object inherits, such as `constructor`. Then ajv must
 * check that fields are own fields, which is slower.
 */
function namesInherited(schemas: unknown): boolean {
  if (Array.isArray(schemas))
    return schemas.some((each) => (typeof each === 'string' ? each in {} : namesInherited(each)));
  if (typeof schemas !== 'object' || schemas === null) return false;
  return Object.entries(schemas).some(([name, child]) => name in {} || namesInherited(child));
}
