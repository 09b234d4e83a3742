import { checkDnsSubdomain } from '@homeostat/controller-runtime/api';

/**
 * The problems of a domain for the service's own kinds, which has to be a DNS subdomain with at least one dot, like
 * groups.
 */
export function checkServiceDomain(domain: string): readonly string[] {
  return domain.includes('.') ? checkDnsSubdomain(domain) : ['must have at least one dot'];
}
