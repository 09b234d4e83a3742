// Measures the processor time of a decision of RbacAuthorizer with 1,000 bindings of 1,000 roles. The limit that the
// benchmark compares it with is the time of finding the decision in a map whose keys are texts of whole requests.
import { answerCalls } from '../processes/answer-calls.ts';
import type { Figures } from '../measure/figures.ts';
import { loadModule } from '../processes/server-modules.ts';
import type { RbacAuthorizer } from '../processes/server-modules.ts';

const modules = await loadModule('authorization/rbac-authorizer');

const bindings = 1_000;
const user = { username: 'ann', groups: ['staff', 'developers', 'system:authenticated'] };

/**
 * Returns the subject of a binding: every tenth binding is for the measured user or one of the user's groups, and all
 * others are for other users.
 */
function subjectOf(number: number): { readonly kind: string; readonly name: string } {
  if (number % 20 === 0) return { kind: 'User', name: 'ann' };
  if (number % 10 === 0) return { kind: 'Group', name: 'developers' };
  return { kind: 'User', name: `user-${number.toString()}` };
}

function authorizerOf(): RbacAuthorizer {
  const authorizer = new modules.RbacAuthorizer();
  for (let number = 0; number < bindings; number += 1) {
    const name = `role-${number.toString()}`;
    const resources = [`things-${(number % 100).toString()}`, `things-${(number % 100).toString()}/status`];
    const verbs = number % 3 === 0 ? ['get', 'list', 'watch'] : ['get', 'list', 'watch', 'update', 'patch'];
    authorizer.setRole({
      name,
      rules: [{ verbs, apiGroups: [`group-${(number % 7).toString()}.example.com`], resources }],
    });
    const namespace = number % 4 < 2 ? undefined : `namespace-${(number % 10).toString()}`;
    const roleRef = { kind: 'ClusterRole', name };
    authorizer.setBinding({ name, namespace, roleRef, subjects: [subjectOf(number)] });
  }
  return authorizer;
}

const verbs = ['get', 'list', 'update', 'delete'];

/**
 * Requests for objects with different names. Some are allowed. Most are not, so that the rules of the user and of each
 * of the user's groups are looked up.
 */
const requests = Array.from({ length: 1_000 }, (_each, number) => ({
  isResource: true as const,
  verb: verbs[number % 4] ?? '',
  group: `group-${(number % 7).toString()}.example.com`,
  version: 'v1',
  resource: `things-${(number % 100).toString()}`,
  namespace: `namespace-${(number % 10).toString()}`,
  name: `object-${number.toString()}`,
}));

function measure(count: number, decide: (request: (typeof requests)[number]) => boolean): Figures {
  let decided = 0;
  let allowed = 0;
  const before = process.cpuUsage();
  while (decided < count) {
    for (const request of requests) if (decide(request)) allowed += 1;
    decided += requests.length;
  }
  const { user: ownUs, system: systemUs } = process.cpuUsage(before);
  const elapsedMs = (ownUs + systemUs) / 1000;
  if (allowed === 0 || allowed === decided) throw new Error('some requests must be allowed, and others must not');
  return { opsPerSecond: (decided / elapsedMs) * 1000, p50Ms: elapsedMs / decided };
}

const authorizer = authorizerOf();
const known = new Map(requests.map((request) => [keyOf(request), authorizer.decide(user, request).allowed] as const));

function keyOf({ verb, group, resource, namespace, name }: (typeof requests)[number]): string {
  return `${verb} ${group} ${resource} ${namespace} ${name}`;
}

answerCalls({
  ours: (count: number) => measure(count, (request) => authorizer.decide(user, request).allowed),
  limit: (count: number) => measure(count, (request) => known.get(keyOf(request)) === true),
});
