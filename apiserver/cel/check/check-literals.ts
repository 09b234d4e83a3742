import { argumentProblem, readFormat } from '../library/format-clauses.ts';
import type { FormatClause } from '../library/format-clauses.ts';
import { patternProblem } from '../library/regex.ts';
import { parseDuration, parseTimestamp } from '../library/time-values.ts';
import type { CelIssue } from '../syntax/cel-issue.ts';
import type { CallNode, CelNode, ListNode } from '../syntax/cel-node.ts';
import type { CelType } from '../types/cel-type.ts';

type TypeOf = (node: CelNode) => CelType;

/** Finds literals with which a function always fails, such as a malformed pattern. */
export function checkLiterals(root: CelNode, typeOf: TypeOf): readonly CelIssue[] {
  const issues: CelIssue[] = [];
  const open: CelNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'call') {
      const issue = issueOf(node) ?? formatIssueOf(node, typeOf);
      if (issue !== undefined) issues.push(issue);
    }
    open.push(...childrenOf(node));
  }
  return issues.sort((a, b) => a.at - b.at);
}

function issueOf({ name, args, target }: CallNode): CelIssue | undefined {
  const last = args.at(-1);
  if (last?.kind !== 'literal' || typeof last.value !== 'string') return undefined;
  const { value, at } = last;
  const wrong = { at, message: `invalid ${name} argument` };
  switch (name) {
    case 'matches':
    case 'find':
    case 'findAll':
      return patternProblem(value) === undefined ? undefined : wrong;
    case 'duration':
      return target !== undefined || parseDuration(value) !== undefined ? undefined : wrong;
    case 'timestamp':
      return target !== undefined || parseTimestamp(value) !== undefined ? undefined : wrong;
    default:
      return undefined;
  }
}

/** Checks the arguments of a call of `format`, if the format is a literal text and the arguments are a literal list. */
function formatIssueOf({ name, target, args, at }: CallNode, typeOf: TypeOf): CelIssue | undefined {
  const [list] = args;
  if (name !== 'format' || target?.kind !== 'literal' || typeof target.value !== 'string') return undefined;
  if (list?.kind !== 'list' || args.length !== 1) return undefined;
  const clauses = readFormat(target.value).filter((piece) => typeof piece !== 'string');
  const wrong = clauses.map((clause, index) => clauseIssue(clause, { list, index, at, typeOf }));
  const first = wrong.find((issue) => issue !== undefined);
  if (first !== undefined || list.items.length <= clauses.length) return first;
  const counts = `expected ${clauses.length}, got ${list.items.length}`;
  return { at, message: `too many arguments supplied to string.format (${counts})` };
}

interface ClausePlace {
  readonly list: ListNode;
  readonly index: number;
  readonly at: number;
  readonly typeOf: TypeOf;
}

function clauseIssue(clause: FormatClause, { list, index, at, typeOf }: ClausePlace): CelIssue | undefined {
  const item = list.items[index];
  if (item === undefined) return { at, message: `index ${index} out of range` };
  const type = typeNameOf(typeOf(item));
  const message = type === 'dyn' ? clause.problem : argumentProblem(clause, type);
  return message === undefined ? undefined : { at: clause.problem === undefined ? item.at : at, message };
}

/** Returns the name of the type that a value has at run time; `dyn` when it may have any type. */
function typeNameOf(type: CelType): string {
  switch (type.kind) {
    case 'timestamp':
      return 'google.protobuf.Timestamp';
    case 'duration':
      return 'google.protobuf.Duration';
    case 'null':
      return 'null_type';
    case 'object':
    case 'opaque':
      return type.name;
    case 'param':
    case 'error':
      return 'dyn';
    default:
      return type.kind;
  }
}

function childrenOf(node: CelNode): readonly CelNode[] {
  switch (node.kind) {
    case 'select':
      return [node.operand];
    case 'call':
      return node.target === undefined ? node.args : [node.target, ...node.args];
    case 'list':
      return node.items;
    case 'map':
      return node.entries.flatMap(({ key, value }) => [key, value]);
    case 'fold':
      return node.filter === undefined ? [node.range, node.body] : [node.range, node.filter, node.body];
    case 'bind':
      return [node.value, node.body];
    default:
      return [];
  }
}
