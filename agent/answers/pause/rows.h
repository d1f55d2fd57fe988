/* pause_views - `pause tree|ports`: how the answers of pause_document.h are shown. */
#pragma once

#include "agent/document/writer.h"

extern const struct view pause_tree_view;
extern const struct view pause_ports_view;
