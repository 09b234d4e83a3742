import { patternProblem } from '../library/regex.ts';
import { parseDuration, parseTimestamp } from '../library/time-values.ts';
import type { CelIssue } from '../syntax/cel-issue.ts';
import type { CallNode, CelNode } from '../syntax/cel-node.ts';

/** Checks literals that a function can never take, such as a pattern with a mistake. */
export function checkLiterals(root: CelNode): readonly CelIssue[] {
  const issues: CelIssue[] = [];
  const open: CelNode[] = [root];
  for (let node = open.pop(); node !== undefined; node = open.pop()) {
    if (node.kind === 'call') {
      const issue = issueOf(node);
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
