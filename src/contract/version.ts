// The version of the wire contract and the digest of the schemas it stands for.
// Must never change its digest without a new version: the contract only grows.

export const CONTRACT_VERSION = '1.3.0';

/** SHA-256 over every generated schema, in file name order. */
export const CONTRACT_SHA256 = '61b4b07dccf9b9eda8f54e29d6d0b339a26100cf29789ec580d4204bcd8c6178';
