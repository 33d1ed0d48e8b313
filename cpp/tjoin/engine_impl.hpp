// Member functions of Engine (included by engine.hpp).
#pragma once

namespace planaris::tjoin {

template <typename Int>
void Engine<Int>::push(Int key, int32_t from, int32_t to, int32_t edge, int32_t kind) {
  if (has_end_ && key >= end_.key) return;  // the tree will have been matched by then
  ++count.pushes;
  if (key == now_) {
    soon_.push_back({key, from, to, edge, kind});
    return;
  }
  later_.push({key, from, to, edge, kind});
}

template <typename Int>
template <typename Poll>
Outcome Engine<Int>::search(int32_t root, int64_t budget, const Poll& poll) {
  ++count.searches;
  now_ = 0;
  has_end_ = walled_ = false;
  v_ = store_->v.data();
  region_ = store_->region.data();
  const int64_t stop = count.scans + budget;
  const int32_t r = v_[root].top;
  enter(r, 1);
  bool done = scan_region(r);
  while (!done && count.scans <= stop) {
    Event event;
    if (soon_head_ < soon_.size()) {
      event = soon_[soon_head_++];
    } else {
      soon_.clear();
      soon_head_ = 0;
      if (!later_.pop(has_end_ ? &end_.key : nullptr, event)) {
        if (!has_end_) throw std::logic_error("T-join: a tree cannot reach the boundary");
        event = end_;
      }
      now_ = event.key;
    }
    ++count.pops;
    done = handle(event);
    try {
      poll();
    } catch (...) {
      finish();
      throw;
    }
  }
  finish();
  return !done ? Outcome::kGivenUp : walled_ ? Outcome::kWalled : Outcome::kMatched;
}

template <typename Int>
void Engine<Int>::grow_alone(int32_t root) {
  ++count.scans;
  const Vertex<Int>* v = store_->v.data();
  Region<Int>* region = store_->region.data();
  const Arc<Int>* nearest = nullptr;
  Int room = 0;
  for (int32_t a = graph_->offsets[root]; a < graph_->offsets[root + 1]; ++a) {
    const Arc<Int>& arc = graph_->arcs[a];
    const int32_t top = v[arc.to].top;
    const Int slack = arc.weight - (top < 0 ? none_ : region[top]).y;
    if (nearest != nullptr && slack >= room) continue;
    nearest = &arc;
    room = slack;
  }
  if (nearest == nullptr) return;
  Region<Int>& own = region[v[root].top];
  own.y = room;
  const int32_t x = nearest->to;
  if (v[x].top < 0) return;
  Region<Int>& other = region[v[x].top];
  if (other.mate.to >= 0 && other.mate.to != graph_->n) return;
  own.mate = {root, x, nearest->edge};
  if (x != graph_->n) other.mate = own.mate.turned();
}

template <typename Int>
void Engine<Int>::enter(int32_t r, int8_t sign) {
  Region<Int>& region = region_[r];
  region.sign = sign;
  region.y = sign > 0 ? Int(region.y - now_) : Int(region.y + now_);
  labelled_.push_back(r);
}

// Schedules an event that ends the search, if none does so as early. It cannot become stale: the
// region it touches stays outside the tree until then.
template <typename Int>
void Engine<Int>::end_by(const Int& key, int32_t from, int32_t to, int32_t edge, int32_t kind) {
  if (has_end_ && key >= end_.key) return;
  ++count.pushes;
  end_ = {key, from, to, edge, kind};
  has_end_ = true;
}

// Schedules what may happen along the edges of v, a vertex of the outer region `own`. Which case an
// edge is can hardly be foretold: the key, and whether it is too late, are found alike for all.
template <typename Int>
bool Engine<Int>::scan_outer(int32_t v, int32_t own, Int dual_v) {
  ++count.scans;
  const auto* arc = &graph_->arcs[graph_->offsets[v]];
  const auto* end = &graph_->arcs[graph_->offsets[v + 1]];
  for (; arc != end; ++arc) {
    const int32_t x = arc->to;
    if (uint32_t(x - low_) >= span_ && x != graph_->n) [[unlikely]] {
      const Int room = halved(arc->weight) - dual_v;
      if (room == 0) return walled_ = true;
      end_by(now_ + room, v, x, arc->edge, kWall);
      continue;
    }
    Int height = v_[x].height;
    int32_t top = v_[x].top;
    const Region<Int>* r = top < 0 ? &none_ : region_ + top;
    if (r->merged != top) [[unlikely]] {
      top = resolve(top, height);
      r = region_ + top;
    }
    const Int slack = arc->weight - dual_v - height - dual(*r);
    const Int key = now_ + (r->sign > 0 ? halved(slack) : slack);
    if (bool(int(r->sign < 0) | int(top == own) | int(has_end_ && key >= end_.key))) continue;
    if (r->sign > 0) {
      push(key, v, x, arc->edge, kMeet);
    } else if (top < 0) {
      push(key, v, x, arc->edge, kReach);
    } else if (r->mate.to >= 0 && r->mate.to != graph_->n) {
      push(key, v, x, arc->edge, top);
    } else if (slack == 0) {
      return touch(top, {v_[v].source, v_[x].source, arc->edge});
    } else {
      end_by(key, v, x, arc->edge, top);
    }
  }
  return false;
}

template <typename Int>
bool Engine<Int>::scan_region(int32_t r) {
  const int32_t last = region_[r].last;
  for (int32_t v = region_[r].first;; v = v_[v].next) {
    const Place p = place(v);
    if (scan_outer(v, p.region, p.dual)) return true;
    if (v == last) return false;
  }
}

// v left the tree's inner part: outer neighbours may now get at it.
template <typename Int>
void Engine<Int>::scan_for_outer(int32_t v, Int dual_v, int32_t kind) {
  ++count.scans;
  const auto* arc = &graph_->arcs[graph_->offsets[v]];
  const auto* end = &graph_->arcs[graph_->offsets[v + 1]];
  for (; arc != end; ++arc) {
    const int32_t x = arc->to;
    if (uint32_t(x - low_) >= span_ || v_[x].top < 0) continue;  // the boundary is never outer
    const Place p = place(x);
    if (region_[p.region].sign <= 0) continue;
    push(now_ + arc->weight - dual_v - p.dual, x, v, arc->edge, kind);
  }
}

template <typename Int>
bool Engine<Int>::handle(const Event& event) {
  if (event.kind == kShrink) {
    const Region<Int>& r = region_[event.from];
    if (r.sign >= 0 || r.merged != event.from) return false;  // wrapped or expanded meanwhile
    return shrink(event.from);
  }
  if (event.kind == kWall) return walled_ = true;
  const int32_t x = event.to;
  // An event is stale when the far end changed its state; whoever changed it scanned anew.
  const int32_t top = v_[x].top < 0 ? -1 : top_of(x);
  if (event.kind == kReach) return top < 0 && reach(event.from, x, event.edge);
  if (event.kind == kMeet) {
    const int32_t own = top_of(event.from);
    return own != top && blossom(own, top, {v_[event.from].source, v_[x].source, event.edge});
  }
  return top == event.kind && region_[top].sign == 0 &&
         touch(top, {v_[event.from].source, v_[x].source, event.edge});
}

// The ball of from's region swallows x, an even vertex nobody holds.
template <typename Int>
bool Engine<Int>::reach(int32_t from, int32_t x, int32_t edge) {
  ++count.absorbed;
  const int32_t r = top_of(from);
  Region<Int>& region = region_[r];
  v_[x].top = r;
  v_[x].source = v_[from].source;
  v_[x].via = edge;
  v_[x].height = -dual(region);
  v_[x].next = region.first;
  region.first = x;
  return scan_outer(x, r, 0);
}

// The region of contact.from touches one outside the tree: match, or make it inner and its mate
// outer.
template <typename Int>
bool Engine<Int>::touch(int32_t r, Contact contact) {
  Region<Int>& region = region_[r];
  if (region.mate.to < 0 || region.mate.to == graph_->n) {
    augment(top_of(contact.from), contact);
    if (contact.to != graph_->n) region.mate = contact.turned();
    return true;
  }
  region.tree = contact.turned();
  enter(r, -1);
  const int32_t mate = top_of(region.mate.to);
  enter(mate, 1);
  schedule_shrink(r);
  return scan_region(mate);
}

template <typename Int>
void Engine<Int>::augment(int32_t r, Contact contact) {
  for (;;) {
    const int32_t before = std::exchange(region_[r].mate, contact).to;
    if (before < 0) return;
    Region<Int>& inner = region_[top_of(before)];
    inner.mate = inner.tree;
    contact = inner.tree.turned();
    r = top_of(contact.from);
  }
}

template <typename Int>
int32_t Engine<Int>::meeting_point(int32_t a, int32_t b) {
  ++mark_;
  const auto up = [this](int32_t r) {
    const int32_t to = region_[r].mate.to;
    return to < 0 ? -1 : top_of(region_[top_of(to)].tree.to);
  };
  for (;; std::swap(a, b)) {
    if (a < 0) continue;
    if (region_[a].mark == mark_) return a;
    region_[a].mark = mark_;
    a = up(a);
  }
}

// Wraps the odd cycle that a tight pair closes in the tree, between its regions a and b.
template <typename Int>
bool Engine<Int>::blossom(int32_t a, int32_t b, Contact contact) {
  ++count.blossoms;
  const int32_t root = meeting_point(a, b);
  if (spare_.empty() && span_ != uint32_t(graph_->n)) {
    throw std::logic_error("T-join: a range has more blossoms than odd vertices allow");
  }
  const int32_t made = store_->new_region(spare_);
  region_ = store_->region.data();
  std::vector<int32_t>& nodes = cycle_nodes_;
  nodes.clear();
  // From the meeting point down to a ...
  for (int32_t r = a; r != root;) {
    nodes.push_back(r);
    const int32_t inner = top_of(region_[r].mate.to);
    nodes.push_back(inner);
    r = top_of(region_[inner].tree.to);
  }
  nodes.push_back(root);
  std::reverse(nodes.begin(), nodes.end());
  for (size_t i = 0; i + 1 < nodes.size(); ++i) {
    const Region<Int>& below = region_[nodes[i + 1]];
    region_[nodes[i]].link = (i % 2 == 0 ? below.tree : below.mate).turned();
  }
  region_[a].link = contact;
  // ... across, and up from b.
  for (int32_t r = b; r != root;) {
    Region<Int>& outer = region_[r];
    const int32_t in = top_of(outer.mate.to);
    Region<Int>& inner = region_[in];
    outer.link = outer.mate;
    inner.link = inner.tree;
    nodes.push_back(r);
    nodes.push_back(in);
    r = top_of(inner.tree.to);
  }
  Region<Int>& whole = region_[made];
  whole.y = 0;
  whole.mate = region_[root].mate;
  whole.child = root;
  whole.first = whole.core = region_[root].first;
  whole.last = region_[nodes.back()].last;
  stack_.clear();
  for (size_t i = 0; i < nodes.size(); ++i) {
    Region<Int>& child = region_[nodes[i]];
    const int32_t next = nodes[i + 1 == nodes.size() ? 0 : i + 1];
    child.cycle = next;
    if (i + 1 < nodes.size()) v_[child.last].next = region_[next].first;
    if (child.sign < 0) stack_.push_back(nodes[i]);
    child.y = dual(child);
    child.shift = child.y;
    child.sign = 0;
    child.inside = true;
    child.merged = made;
  }
  enter(made, 1);
  formed_.push_back(made);
  // scan_region may not recurse into blossom(), so stack_ is safe here.
  for (const int32_t r : stack_) {
    if (scan_region(r)) return true;
  }
  return false;
}

template <typename Int>
void Engine<Int>::schedule_shrink(int32_t r) {
  const Region<Int>& region = region_[r];
  Int room = dual(region);
  if (region.first != region.core) room += v_[region.first].height;
  push(now_ + room, r, -1, -1, kShrink);
}

template <typename Int>
bool Engine<Int>::shrink(int32_t r) {
  Region<Int>& region = region_[r];
  if (region.first != region.core) {
    const int32_t v = region.first;
    if (dual(region) + v_[v].height != 0) return false;  // stale: from an earlier entry
    ++count.released;
    region.first = v_[v].next;
    v_[v].top = -1;
    v_[v].height = 0;
    schedule_shrink(r);
    scan_for_outer(v, 0, kReach);
    return false;
  }
  if (region.child >= 0) return expand(r);
  // A ball of radius zero: parent and child of the tree touch across its odd vertex.
  const int32_t from = region.tree.to, to = region.mate.to;
  return blossom(top_of(from), top_of(to), {from, to, -1});
}

// Undoes an inner blossom whose dual is zero: an even path of it stays in the tree.
template <typename Int>
bool Engine<Int>::expand(int32_t r) {
  ++count.expansions;
  const Region<Int> old = region_[r];
  std::vector<int32_t>& nodes = cycle_nodes_;
  nodes.clear();
  int32_t c = old.child;
  do {
    store_->free_child(c);
    nodes.push_back(c);
    c = region_[c].cycle;
  } while (c != old.child);
  region_[r].sign = 0;
  region_[r].spare = true;
  spare_.push_back(r);
  const size_t k = nodes.size();
  const int32_t entry = v_[old.tree.from].top, exit = v_[old.mate.from].top;
  const size_t i = std::find(nodes.begin(), nodes.end(), entry) - nodes.begin();
  const size_t j = std::find(nodes.begin(), nodes.end(), exit) - nodes.begin();
  const auto at = [&](size_t index) -> Region<Int>& { return region_[nodes[index % k]]; };
  const auto match = [&](size_t index) {  // nodes index and index + 1
    const Contact link = at(index).link;
    at(index).mate = link;
    at(index + 1).mate = link.turned();
  };
  const size_t ahead = (j + k - i) % k;
  stack_.clear();
  if (ahead % 2 == 0) {  // the tree runs i, i+1, ..., j
    for (size_t s = 0; s < ahead; s += 2) {
      match(i + s);
      at(i + s + 2).tree = at(i + s + 1).link.turned();
    }
    for (size_t s = ahead + 1; s < k; s += 2) match(i + s);
    for (size_t s = 0; s <= ahead; ++s) stack_.push_back(nodes[(i + s) % k]);
  } else {  // i, i-1, ..., j
    const size_t back = k - ahead;
    for (size_t s = 0; s < back; s += 2) {
      match(i + k - s - 1);
      Region<Int>& inner = at(i + k - s - 2);
      inner.tree = inner.link;
    }
    for (size_t s = 1; s < ahead; s += 2) match(i + s);
    for (size_t s = 0; s <= back; ++s) stack_.push_back(nodes[(i + k - s) % k]);
  }
  region_[entry].tree = old.tree;
  region_[exit].mate = old.mate;
  for (size_t s = 0; s < stack_.size(); ++s) enter(stack_[s], s % 2 == 0 ? -1 : 1);
  // The others, between the ends of the path, leave the tree as matched pairs.
  const size_t from = ahead % 2 == 0 ? i + ahead + 1 : i + 1;
  for (size_t s = from; s < from + k - stack_.size(); ++s) {
    const int32_t x = nodes[s % k];
    for (int32_t v = region_[x].first;; v = v_[v].next) {
      scan_for_outer(v, v_[v].height + region_[x].y, x);
      if (v == region_[x].last) break;
    }
  }
  for (size_t s = 0; s < stack_.size(); ++s) {
    if (s % 2 == 0) {
      schedule_shrink(stack_[s]);
    } else if (scan_region(stack_[s])) {
      return true;
    }
  }
  return false;
}

// Writes the duals of the tree back and brings vertices of new blossoms up to date.
template <typename Int>
void Engine<Int>::finish() {
  count.largest = std::max<int64_t>(count.largest, int64_t(labelled_.size()));
  for (const int32_t r : labelled_) {
    Region<Int>& region = region_[r];
    region.y = dual(region);
    region.sign = 0;
  }
  labelled_.clear();
  for (const int32_t r : formed_) {
    if (region_[r].merged != r) continue;
    for (int32_t v = region_[r].first;; v = v_[v].next) {
      v_[v].top = resolve(v_[v].top, v_[v].height);
      if (v == region_[r].last) break;
    }
  }
  for (const int32_t r : formed_) {
    int32_t c = region_[r].child;
    do {
      region_[c].merged = c;
      c = region_[c].cycle;
    } while (c != region_[r].child);
  }
  formed_.clear();
  later_.clear();
  soon_.clear();
  soon_head_ = 0;
}

}  // namespace planaris::tjoin
