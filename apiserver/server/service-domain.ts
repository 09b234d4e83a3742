import { checkDnsSubdomain } from '@homeostat/controller-runtime/api';

/**
 * Returns the reasons why a text cannot be a service domain; an empty list if it can. Like a group, a service domain
 * must be a DNS subdomain with at least one dot.
 */
export function checkServiceDomain(domain: string): readonly string[] {
  return domain.includes('.') ? checkDnsSubdomain(domain) : ['must have at least one dot'];
}
