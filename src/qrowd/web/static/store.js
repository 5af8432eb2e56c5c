// What this browser remembers; where a browser refuses, only as long as the tab is open.

const memory = new Map();

function usable() {
  try {
    localStorage.setItem("qrowd:try", "1");
    localStorage.removeItem("qrowd:try");
    return true;
  } catch {
    return false;
  }
}

export const lasting = usable();

export function get(name, fallback = null) {
  const text = lasting ? localStorage.getItem(name) : memory.get(name);
  try {
    return text === null || text === undefined ? fallback : JSON.parse(text);
  } catch {
    return fallback;
  }
}

export function put(name, value) {
  const text = JSON.stringify(value);
  if (lasting) localStorage.setItem(name, text);
  else memory.set(name, text);
}

export function remove(name) {
  if (lasting) localStorage.removeItem(name);
  else memory.delete(name);
}

export function names(start) {
  const all = lasting ? Object.keys(localStorage) : [...memory.keys()];
  return all.filter((name) => name.startsWith(start)).sort();
}
