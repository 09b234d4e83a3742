import { parseSettings, readSettingsText } from '../settings/settings-file.ts';
import type { SettingsText } from '../settings/settings-file.ts';
import type { SettingsFields } from '../settings/fields.ts';
import { auditLevels, auditStages } from './audit-policy.ts';
import type { AuditPolicy, AuditRule, AuditStage, AuditedResources } from './audit-policy.ts';

const apiVersion = 'audit.k8s.io/v1';
const policyKeys = ['apiVersion', 'kind', 'metadata', 'rules', 'omitStages', 'omitManagedFields'];
const listKeys = ['users', 'userGroups', 'verbs', 'nonResourceURLs'] as const;
const ruleKeys = ['level', ...listKeys, 'resources', 'namespaces', 'omitStages', 'omitManagedFields'];

/** Reads the file of `--audit-policy`. Rejects with a SettingsFileError that names file and line. */
export async function readAuditPolicy(path: string): Promise<AuditPolicy> {
  return parseAuditPolicy(await readSettingsText(path));
}

/** Parses the text of an audit policy. @throws SettingsFileError that names file and line */
export function parseAuditPolicy(file: SettingsText): AuditPolicy {
  const fields = parseSettings(file).withKeys(policyKeys);
  if (fields.text('apiVersion') !== apiVersion) throw fields.mistake('apiVersion', `must be ${apiVersion}`);
  if (fields.text('kind') !== 'Policy') throw fields.mistake('kind', 'must be Policy');
  const rules = fields.items('rules').map(readRule);
  if (rules.length === 0) throw fields.mistake('rules', 'must have a rule, or nothing is recorded');
  return { rules, omitStages: stagesIn(fields), omitManagedFields: fields.flag('omitManagedFields') ?? false };
}

function readRule(fields: SettingsFields): AuditRule {
  fields.withKeys(ruleKeys);
  const named = fields.text('level');
  const level = auditLevels.find((each) => each === named);
  if (level === undefined) throw fields.mistake('level', `must be one of ${auditLevels.join(', ')}`);
  const [users, userGroups, verbs, nonResourceURLs] = listKeys.map((key) => fields.texts(key));
  const resources = fields.items('resources').map(readResources);
  const namespaces = fields.texts('namespaces', { mayBeEmpty: true });
  if (nonResourceURLs !== undefined) checkPaths(fields, nonResourceURLs, resources.length + namespaces.length > 0);
  return {
    level,
    users: users ?? [],
    userGroups: userGroups ?? [],
    verbs: verbs ?? [],
    nonResourceURLs: nonResourceURLs ?? [],
    resources,
    namespaces,
    omitStages: stagesIn(fields),
    omitManagedFields: fields.flag('omitManagedFields'),
  };
}

function readResources(fields: SettingsFields): AuditedResources {
  fields.withKeys(['group', 'resources', 'resourceNames']);
  const resources = fields.texts('resources');
  const resourceNames = fields.texts('resourceNames');
  if (resourceNames.length > 0 && resources.length === 0) {
    throw fields.mistake('resourceNames', 'needs resources: add the plural names of the kinds of these objects');
  }
  return { group: fields.optionalText('group') ?? '', resources, resourceNames };
}

function checkPaths(fields: SettingsFields, paths: readonly string[], hasResources: boolean): void {
  if (paths.length > 0 && hasResources) {
    throw fields.mistake('nonResourceURLs', 'cannot be combined with resources or namespaces: use a separate rule');
  }
  for (const [index, path] of paths.entries()) {
    const isPath = path === '*' || (path.startsWith('/') && !path.slice(0, -1).includes('*'));
    if (!isPath) {
      throw fields.mistake(`nonResourceURLs[${index}]`, 'must be *, or begin with / and have a * only at the end');
    }
  }
}

function stagesIn(fields: SettingsFields): readonly AuditStage[] {
  return fields.texts('omitStages').map((name, index) => {
    const stage = auditStages.find((each) => each === name);
    if (stage === undefined) throw fields.mistake(`omitStages[${index}]`, `must be one of ${auditStages.join(', ')}`);
    return stage;
  });
}
