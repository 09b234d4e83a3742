import { parseSettings } from '../../settings/settings-file.ts';
import type { SettingsText } from '../../settings/settings-file.ts';
import type { SettingsFields } from '../../settings/fields.ts';
import { authenticated } from '../user-info.ts';
import type { UserInfo } from '../user-info.ts';

/** The owner of a token. Only the SHA-256 of the token is known. */
export interface TokenOwner {
  readonly digest: Buffer;
  readonly user: UserInfo;
}

/**
 * Parses the file of `--token-file`.
 * @throws SettingsFileError that names file and line
 */
export function parseTokenFile(file: SettingsText): readonly TokenOwner[] {
  const items = parseSettings(file).withKeys(['tokens']).items('tokens');
  const seen = new Set<string>();
  return items.map((item) => {
    const owner = readOwner(item);
    const key = owner.digest.toString('hex');
    if (seen.has(key)) throw item.mistake('sha256', 'is in this file already: a token has one owner');
    seen.add(key);
    return owner;
  });
}

function readOwner(item: SettingsFields): TokenOwner {
  item.withKeys(['user', 'uid', 'groups', 'sha256']);
  const username = nameIn(item, 'user', item.text('user'));
  const uid = item.optionalText('uid');
  const groups = item.texts('groups').map((group, index) => nameIn(item, `groups[${index}]`, group));
  const sha256 = item.text('sha256');
  if (!/^[0-9a-f]{64}$/i.test(sha256)) {
    const cure = 'printf %s "$TOKEN" | sha256sum';
    throw item.mistake('sha256', `must be the SHA-256 of a token, 64 hexadecimal digits: ${cure}`);
  }
  const user = authenticated({ username, groups, ...(uid === undefined ? {} : { uid }) });
  return { digest: Buffer.from(sha256, 'hex'), user };
}

/**
 * Checks a name, and returns it. Control characters and invisible characters are refused, because names appear in
 * headers and in logs.
 */
function nameIn(item: SettingsFields, field: string, name: string): string {
  if (name.length > 0 && name.length <= 256 && !/\p{C}/u.test(name)) return name;
  throw item.mistake(field, 'must have 1 to 256 characters, without control characters and other invisible characters');
}
