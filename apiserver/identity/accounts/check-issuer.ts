/**
 * Returns the problems of an issuer URL for tokens of service accounts. Other programs fetch the keys from this URL by
 * HTTPS.
 */
export function checkIssuer(issuer: string): readonly string[] {
  const url = URL.canParse(issuer) ? new URL(issuer) : undefined;
  const isPlain = url !== undefined && url.username + url.password + url.search + url.hash === '';
  if (isPlain && url.protocol === 'https:' && issuer.length <= 1024) return [];
  const form = 'such as https://homeostat.example.com, without user, query and fragment';
  return [`must be an HTTPS URL of at most 1024 characters, ${form}`];
}
